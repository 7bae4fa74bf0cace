package etcd

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// slowMembers answers transactions with the errors first, and then with no pairs.
type slowMembers struct {
	clientv3.KV
	errs  []error
	asked int
}

// Txn implements clientv3.KV.
func (s *slowMembers) Txn(context.Context) clientv3.Txn { return slowTxn{members: s} }

type slowTxn struct {
	clientv3.Txn
	members *slowMembers
}

// Then implements clientv3.Txn.
func (x slowTxn) Then(...clientv3.Op) clientv3.Txn { return x }

// Commit implements clientv3.Txn.
func (x slowTxn) Commit() (*clientv3.TxnResponse, error) {
	s := x.members
	if s.asked++; s.asked <= len(s.errs) {
		return nil, s.errs[s.asked-1]
	}
	response := &etcdserverpb.ResponseOp{Response: &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{}}}
	return &clientv3.TxnResponse{Responses: []*etcdserverpb.ResponseOp{response}}, nil
}

// Firsts asks each member once if they do not answer in time, and no member again after another error.
func TestFirstsAsksOtherMembers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		errs  []error
		asked int
		want  error
	}{
		"the first answers":      {nil, 1, nil},
		"two are cut off":        {[]error{rpctypes.ErrTimeout, rpctypes.ErrTimeout}, 3, nil},
		"all are cut off":        {[]error{rpctypes.ErrTimeout, rpctypes.ErrTimeout, rpctypes.ErrTimeout}, 3, rpctypes.ErrTimeout},
		"the first has an error": {[]error{broken}, 1, broken},
	} {
		members := &slowMembers{errs: test.errs}
		c := &Client{shared: &clientv3.Client{KV: members}, endpoints: []string{"a", "b", "c"}}
		found, err := c.Firsts(t.Context(), []string{"/registry/"})
		if !errors.Is(err, test.want) || members.asked != test.asked || (err == nil && len(found) != 1) {
			t.Errorf("%s: %v, %v after %d requests, want %v after %d", name, found, err, members.asked, test.want, test.asked)
		}
	}
}
