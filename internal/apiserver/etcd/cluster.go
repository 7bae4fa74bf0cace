package etcd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

const (
	// answerTimeout is how long Connect waits for a cluster to answer.
	answerTimeout = 5 * time.Second
	// After the sum of these times, the client sends no more requests to a member that does not
	// answer, such as a paused process. Requests to it wait until then. Kubernetes has 30 s and
	// 10 s. gRPC allows no keepalive time below 10 s.
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
)

// Cluster is an etcd cluster outside of the process.
type Cluster struct {
	// Servers are the URLs of the members.
	Servers []string
	// CAFile, CertFile and KeyFile configure TLS. An empty one is not used.
	CAFile, CertFile, KeyFile string
}

// Connect connects to a cluster and sends a first read. If the cluster does not answer, it
// returns an error after answerTimeout. Without this read, the first request to the storage
// would be retried for minutes.
func Connect(ctx context.Context, cluster Cluster) (*Client, error) {
	servers := strings.Join(cluster.Servers, ",")
	settings := clientv3.Config{
		Endpoints: cluster.Servers, DialTimeout: answerTimeout, Logger: zap.NewNop(),
		DialKeepAliveTime: keepaliveTime, DialKeepAliveTimeout: keepaliveTimeout,
		DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(withLeader(len(cluster.Servers))),
			grpc.WithChainStreamInterceptor(listWithLeader(len(cluster.Servers))),
		},
	}
	if cluster.CAFile != "" || cluster.CertFile != "" {
		files := transport.TLSInfo{CertFile: cluster.CertFile, KeyFile: cluster.KeyFile, TrustedCAFile: cluster.CAFile}
		tls, err := files.ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("etcd at %s: certificates: %w", servers, err)
		}
		settings.TLS = tls
	}
	client, err := clientv3.New(settings)
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", servers, err)
	}
	if err := firstRead(ctx, client, len(cluster.Servers)); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("etcd at %s: no answer within %s: %w", servers, answerTimeout, err)
	}
	connected := newClient(client, cluster.Servers, func() clientv3.Watcher { return clientv3.NewWatcher(client) })
	connected.connect = func(endpoint string) (*clientv3.Client, func(), error) {
		one := settings
		one.Endpoints = []string{endpoint}
		member, err := clientv3.New(one)
		if err != nil {
			return nil, nil, err
		}
		return member, func() { _ = member.Close() }, nil
	}
	return connected, nil
}

// firstRead sends a read to the members in turn until one answers. A member that has just lost its
// leader keeps a request for longer than answerTimeout.
func firstRead(ctx context.Context, client *clientv3.Client, members int) error {
	var err error
	for range members {
		attempt, cancel := context.WithTimeout(ctx, answerTimeout/time.Duration(members))
		_, err = client.Get(attempt, "/health")
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}
