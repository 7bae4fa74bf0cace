package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// Fence is a condition for writes: another key still has the revision that the writer has seen. etcd compares both keys in one
// transaction. So of two servers that write one of the two keys each, the second one learns of the write of the first.
type Fence struct {
	Key      string
	Revision int64
	// Renew returns the revision of a change of the key that does not matter to the writer, so that the write is stored behind it. ok is
	// false if the change may matter. It may be nil.
	Renew func(ctx context.Context, failed *FenceError) (revision int64, ok bool)
}

// renewals is how often a write is tried again because of changes that do not matter to it.
const renewals = 5

type fenceKey struct{}

// WithFence returns a context in which a Storage writes objects only while the fence holds. Otherwise the error is a *FenceError.
func WithFence(ctx context.Context, fence Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, fence)
}

// FenceOf returns the fence of a context.
func FenceOf(ctx context.Context) (Fence, bool) {
	fence, ok := ctx.Value(fenceKey{}).(Fence)
	return fence, ok
}

// FenceError is the error of a write whose fence does not hold.
type FenceError struct {
	Fence
	// Current is the revision that the key of the fence has. It is zero if there is no such key.
	Current int64
}

// Error implements error.
func (e *FenceError) Error() string {
	return fmt.Sprintf("%s has the revision %d, not %d", e.Key, e.Current, e.Revision)
}

// fencedClient writes keys in transactions that compare the fence of the context.
type fencedClient struct {
	kubernetes.Interface
	kv clientv3.KV
}

// OptimisticPut implements kubernetes.Interface.
func (c fencedClient) OptimisticPut(
	ctx context.Context, key string, value []byte, expected int64, options kubernetes.PutOptions,
) (kubernetes.PutResponse, error) {
	fence, ok := FenceOf(ctx)
	if !ok {
		return c.Interface.OptimisticPut(ctx, key, value, expected, options)
	}
	put := clientv3.OpPut(key, string(value), clientv3.WithLease(options.LeaseID))
	return c.write(ctx, fence, clientv3.Compare(clientv3.ModRevision(key), "=", expected), put)
}

// OptimisticDelete implements kubernetes.Interface.
func (c fencedClient) OptimisticDelete(
	ctx context.Context, key string, expected int64, options kubernetes.DeleteOptions,
) (kubernetes.DeleteResponse, error) {
	fence, ok := FenceOf(ctx)
	if !ok {
		return c.Interface.OptimisticDelete(ctx, key, expected, options)
	}
	answer, err := c.write(ctx, fence, clientv3.Compare(clientv3.ModRevision(key), "=", expected), clientv3.OpDelete(key))
	return kubernetes.DeleteResponse(answer), err
}

// write commits a write if the fence and the condition of the written key hold, or if the fence can be renewed. If the condition does not
// hold, the answer has the current pair of the key: the caller of the library then tries again.
func (c fencedClient) write(ctx context.Context, fence Fence, condition clientv3.Cmp, op clientv3.Op) (kubernetes.PutResponse, error) {
	for renewed := 0; ; renewed++ {
		response, err := c.writeOnce(ctx, fence, condition, op)
		var failed *FenceError
		if !errors.As(err, &failed) || fence.Renew == nil || renewed == renewals {
			return response, err
		}
		revision, ok := fence.Renew(ctx, failed)
		if !ok {
			return response, err
		}
		fence.Revision = revision
	}
}

// writeOnce is write with one transaction.
func (c fencedClient) writeOnce(ctx context.Context, fence Fence, condition clientv3.Cmp, op clientv3.Op) (kubernetes.PutResponse, error) {
	answer, err := c.kv.Txn(ctx).
		If(condition, clientv3.Compare(clientv3.ModRevision(fence.Key), "=", fence.Revision)).
		Then(op).
		Else(clientv3.OpGet(string(op.KeyBytes())), clientv3.OpGet(fence.Key, clientv3.WithKeysOnly())).
		Commit()
	if err != nil {
		return kubernetes.PutResponse{}, err
	}
	response := kubernetes.PutResponse{Succeeded: answer.Succeeded, Revision: answer.Header.Revision}
	if answer.Succeeded {
		return response, nil
	}
	if found := answer.Responses[0].GetResponseRange().Kvs; len(found) > 0 {
		response.KV = found[0]
	}
	failed := &FenceError{Fence: fence}
	if found := answer.Responses[1].GetResponseRange().Kvs; len(found) > 0 {
		failed.Current = found[0].ModRevision
	}
	if failed.Current == fence.Revision {
		return response, nil
	}
	return response, failed
}

// Replace stores another value under the key of a pair, if the stored pair is still this one and the fence of the context holds. The key
// keeps its lease. It reports whether it stored the value.
func (c *Client) Replace(ctx context.Context, pair Pair, value []byte) (bool, error) {
	same := clientv3.Compare(clientv3.ModRevision(pair.Key), "=", pair.Revision)
	put := clientv3.OpPut(pair.Key, string(value), clientv3.WithIgnoreLease())
	if fence, ok := FenceOf(ctx); ok {
		answer, err := fencedClient{kv: c.shared.KV}.write(ctx, fence, same, put)
		return answer.Succeeded, err
	}
	answer, err := c.shared.Txn(ctx).If(same).Then(put).Commit()
	if err != nil {
		return false, fmt.Errorf("write %s: %w", pair.Key, err)
	}
	return answer.Succeeded, nil
}
