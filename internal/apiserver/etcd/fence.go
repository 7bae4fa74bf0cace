package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// Fence is a condition for writes: another key still has the revision that the writer has seen, or no key of some spans was
// written since a revision. etcd compares these keys in the transaction of the write. So of two servers that write one of the keys each,
// the second one learns of the write of the first.
type Fence struct {
	// Key is empty for a fence with spans.
	Key      string
	Revision int64
	// Spans have the keys that must not have a newer revision. A deletion is no write. etcd reads all keys of the spans to
	// compare them. A transaction may have 128 comparisons, and more in the member of this process.
	Spans []Span
	// Renew returns the revision of changes that do not matter to the writer, so that the write is stored behind them. ok is
	// false if a change may matter. It may be nil.
	Renew func(ctx context.Context, failed *FenceError) (revision int64, ok bool)
}

// Span is the keys from First on, in their order, up to End, which is not one of them.
type Span struct{ First, End string }

// WithPrefix returns the keys with a prefix.
func WithPrefix(prefix string) Span { return Span{prefix, clientv3.GetPrefixRangeEnd(prefix)} }

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
	// Current is the revision that the key of the fence has. It is zero if there is no such key. With spans, it is that of the store.
	Current int64
}

// Error implements error.
func (e *FenceError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("another object was written after the revision %d", e.Revision)
	}
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
	return c.write(ctx, fence, expected, put)
}

// OptimisticDelete implements kubernetes.Interface.
func (c fencedClient) OptimisticDelete(
	ctx context.Context, key string, expected int64, options kubernetes.DeleteOptions,
) (kubernetes.DeleteResponse, error) {
	fence, ok := FenceOf(ctx)
	if !ok {
		return c.Interface.OptimisticDelete(ctx, key, expected, options)
	}
	answer, err := c.write(ctx, fence, expected, clientv3.OpDelete(key))
	return kubernetes.DeleteResponse(answer), err
}

// write commits a write if the written key has the expected revision and the fence holds or can be renewed. If the key has another
// revision, the answer has the current pair of the key: the caller of the library then tries again.
func (c fencedClient) write(ctx context.Context, fence Fence, expected int64, op clientv3.Op) (kubernetes.PutResponse, error) {
	for renewed := 0; ; renewed++ {
		response, err := c.writeOnce(ctx, fence, expected, op)
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

// conditions are those of a transaction.
func (f Fence) conditions() []clientv3.Cmp {
	if f.Key != "" {
		return []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(f.Key), "=", f.Revision)}
	}
	all := make([]clientv3.Cmp, 0, len(f.Spans))
	for _, span := range f.Spans {
		all = append(all, clientv3.Compare(clientv3.ModRevision(span.First), "<", f.Revision+1).WithRange(span.End))
	}
	return all
}

// writeOnce is write with one transaction.
func (c fencedClient) writeOnce(ctx context.Context, fence Fence, expected int64, op clientv3.Op) (kubernetes.PutResponse, error) {
	key := string(op.KeyBytes())
	otherwise := []clientv3.Op{clientv3.OpGet(key)}
	if fence.Key != "" {
		otherwise = append(otherwise, clientv3.OpGet(fence.Key, clientv3.WithKeysOnly()))
	}
	conditions := append(fence.conditions(), clientv3.Compare(clientv3.ModRevision(key), "=", expected))
	answer, err := c.kv.Txn(ctx).If(conditions...).Then(op).Else(otherwise...).Commit()
	if err != nil {
		return kubernetes.PutResponse{}, err
	}
	response := kubernetes.PutResponse{Succeeded: answer.Succeeded, Revision: answer.Header.Revision}
	if answer.Succeeded {
		return response, nil
	}
	var stored int64
	if found := answer.Responses[0].GetResponseRange().Kvs; len(found) > 0 {
		response.KV, stored = found[0], found[0].ModRevision
	}
	failed := &FenceError{Fence: fence, Current: answer.Header.Revision}
	if fence.Key != "" {
		failed.Current = 0
		if found := answer.Responses[1].GetResponseRange().Kvs; len(found) > 0 {
			failed.Current = found[0].ModRevision
		}
	}
	holds := failed.Current == fence.Revision
	if fence.Key == "" {
		// The key itself was not written, so another one was.
		holds = stored != expected
	}
	if holds {
		return response, nil
	}
	return response, failed
}

// Replace stores another value under the key of a pair, if the stored pair is still this one and the fence of the context holds. The key
// keeps its lease. It reports whether it stored the value.
func (c *Client) Replace(ctx context.Context, pair Pair, value []byte) (bool, error) {
	put := clientv3.OpPut(pair.Key, string(value), clientv3.WithIgnoreLease())
	if fence, ok := FenceOf(ctx); ok {
		answer, err := fencedClient{kv: c.shared.KV}.write(ctx, fence, pair.Revision, put)
		return answer.Succeeded, err
	}
	same := clientv3.Compare(clientv3.ModRevision(pair.Key), "=", pair.Revision)
	answer, err := c.shared.Txn(ctx).If(same).Then(put).Commit()
	if err != nil {
		return false, fmt.Errorf("write %s: %w", pair.Key, err)
	}
	return answer.Succeeded, nil
}
