package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// withLeader returns an interceptor that sends a request to the next member if a member has no
// leader: it was cut off from the others, or has just started. Without the interceptor, such a
// member would keep the request until it times out. The member refuses the request before it
// handles it, so a write is not stored twice.
func withLeader(members int) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		// The doctor also asks members without a leader for their status.
		if method == "/etcdserverpb.Maintenance/Status" {
			return invoke(ctx, method, req, reply, conn, opts...)
		}
		ctx = requireLeader(ctx)
		var err error
		// The balancer takes the members in turn.
		for range members {
			if err = invoke(ctx, method, req, reply, conn, opts...); !hasNoLeader(err) {
				return err
			}
		}
		return err
	}
}

// listWithLeader returns an interceptor that does the same for lists, which etcd sends as a stream.
func listWithLeader(members int) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
		streamer grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		if method != "/etcdserverpb.KV/RangeStream" {
			return streamer(ctx, desc, conn, method, opts...)
		}
		ctx = requireLeader(ctx)
		open := func() (grpc.ClientStream, error) { return streamer(ctx, desc, conn, method, opts...) }
		first, err := open()
		if err != nil {
			return nil, err
		}
		return &listStream{ClientStream: first, open: open, others: members - 1}, nil
	}
}

// listStream is the stream of a list. It begins again with another member if a member refuses it.
type listStream struct {
	grpc.ClientStream
	open    func() (grpc.ClientStream, error)
	request any
	// others is the number of members that it may still ask; 0 after the first message.
	others int
}

// SendMsg implements grpc.ClientStream. It sends the request, the only message of the client.
func (s *listStream) SendMsg(request any) error {
	s.request = request
	return s.ClientStream.SendMsg(request)
}

// RecvMsg implements grpc.ClientStream.
func (s *listStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	for ; hasNoLeader(err) && s.others > 0; s.others-- {
		if err = s.begin(); err == nil {
			err = s.ClientStream.RecvMsg(message)
		}
	}
	s.others = 0
	return err
}

// begin sends the request again.
func (s *listStream) begin() error {
	next, err := s.open()
	if err != nil {
		return err
	}
	s.ClientStream = next
	if err := next.SendMsg(s.request); err != nil {
		return err
	}
	return next.CloseSend()
}

// requireLeader makes a member refuse a request if it has no leader.
func requireLeader(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, rpctypes.MetadataRequireLeaderKey, rpctypes.MetadataHasLeader)
}

// hasNoLeader reports whether a member refused a request because it has no leader.
func hasNoLeader(err error) bool { return errors.Is(rpctypes.Error(err), rpctypes.ErrNoLeader) }
