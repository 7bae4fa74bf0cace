package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/replacement"
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

// fencedClient writes keys in transactions that compare the fence of the context, and make the changes of its plan.
type fencedClient struct {
	kubernetes.Interface
	kv clientv3.KV
}

// OptimisticPut implements kubernetes.Interface. The create of an object that replaces another one compares the revision of that one.
func (c fencedClient) OptimisticPut(
	ctx context.Context, key string, value []byte, expected int64, options kubernetes.PutOptions,
) (kubernetes.PutResponse, error) {
	if swap := replacement.For(ctx, key); swap != nil && expected == 0 {
		expected = swap.Revision
	}
	// The library copies the value to a text and back.
	put := func() clientv3.Op {
		op := clientv3.OpPut(key, "", clientv3.WithLease(options.LeaseID))
		op.WithValueBytes(value)
		return op
	}
	plain := func() (kubernetes.PutResponse, error) {
		return c.put(ctx, objectWrite{key: key, expected: expected, op: put}, options.GetOnFailure)
	}
	return c.write(ctx, objectWrite{key, expected, put, plain})
}

// put writes an object without a fence and without a plan. If the key has another revision, the answer has its current pair on request.
func (c fencedClient) put(ctx context.Context, w objectWrite, getOnFailure bool) (kubernetes.PutResponse, error) {
	txn := c.kv.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(w.key), "=", w.expected)).Then(w.op())
	if getOnFailure {
		txn = txn.Else(clientv3.OpGet(w.key))
	}
	answer, err := txn.Commit()
	if err != nil {
		return kubernetes.PutResponse{}, err
	}
	response := kubernetes.PutResponse{Succeeded: answer.Succeeded, Revision: answer.Header.Revision}
	if getOnFailure && !answer.Succeeded && len(answer.Responses) > 0 {
		if pairs := answer.Responses[0].GetResponseRange().Kvs; len(pairs) == 1 {
			response.KV = pairs[0]
		}
	}
	return response, nil
}

// OptimisticDelete implements kubernetes.Interface.
func (c fencedClient) OptimisticDelete(
	ctx context.Context, key string, expected int64, options kubernetes.DeleteOptions,
) (kubernetes.DeleteResponse, error) {
	plain := func() (kubernetes.PutResponse, error) {
		answer, err := c.Interface.OptimisticDelete(ctx, key, expected, options)
		return kubernetes.PutResponse(answer), err
	}
	remove := func() clientv3.Op { return clientv3.OpDelete(key) }
	answer, err := c.write(ctx, objectWrite{key, expected, remove, plain})
	return kubernetes.DeleteResponse(answer), err
}

// objectWrite is a write of an object that has the expected revision.
type objectWrite struct {
	key      string
	expected int64
	op       func() clientv3.Op
	// plain makes the write without a fence and without a plan.
	plain func() (kubernetes.PutResponse, error)
}

// write commits a write if the written key has the expected revision and the fence holds or can be renewed. If the key has another
// revision, the answer has the current pair of the key: the caller of the library then tries again.
func (c fencedClient) write(ctx context.Context, w objectWrite) (kubernetes.PutResponse, error) {
	fence, fenced := FenceOf(ctx)
	plan, again := planOf(ctx), false
	for tries := 0; ; tries++ {
		beside, err := plan(ctx, again)
		if err != nil {
			return kubernetes.PutResponse{}, err
		}
		if err := failpoint.Fail("etcd:write"); err != nil {
			return kubernetes.PutResponse{}, err
		}
		if beside.isEmpty() && !fenced {
			response, err := w.plain()
			if err == nil && response.Succeeded {
				if err := failpoint.Fail("etcd:written"); err != nil {
					return response, err
				}
				beside.written(response.Revision)
			}
			return response, err
		}
		response, err := c.writeOnce(ctx, fence, beside, w)
		again = errors.Is(err, errBeside)
		var failed *FenceError
		switch {
		case tries == renewals:
			return response, err
		case again:
		case errors.As(err, &failed) && fence.Renew != nil:
			revision, ok := fence.Renew(ctx, failed)
			if !ok {
				return response, err
			}
			fence.Revision = revision
		default:
			return response, err
		}
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
func (c fencedClient) writeOnce(ctx context.Context, fence Fence, beside *Beside, w objectWrite) (kubernetes.PutResponse, error) {
	otherwise := append([]clientv3.Op{clientv3.OpGet(w.key)}, beside.reads()...)
	if fence.Key != "" {
		otherwise = append(otherwise, clientv3.OpGet(fence.Key, clientv3.WithKeysOnly()))
	}
	conditions := append(fence.conditions(), clientv3.Compare(clientv3.ModRevision(w.key), "=", w.expected))
	conditions = append(conditions, beside.conditions()...)
	operations := append([]clientv3.Op{w.op()}, beside.operations()...)
	answer, err := c.kv.Txn(ctx).If(conditions...).Then(operations...).Else(otherwise...).Commit()
	if err != nil {
		return kubernetes.PutResponse{}, err
	}
	response := kubernetes.PutResponse{Succeeded: answer.Succeeded, Revision: answer.Header.Revision}
	if answer.Succeeded {
		if err := failpoint.Fail("etcd:writtenBeside"); err != nil {
			return response, err
		}
		beside.written(answer.Header.Revision)
		return response, nil
	}
	found := make([]*mvccpb.KeyValue, len(answer.Responses))
	for i, read := range answer.Responses {
		found[i] = &mvccpb.KeyValue{} // a key that does not exist has the revision zero
		if pairs := read.GetResponseRange().Kvs; len(pairs) > 0 {
			found[i] = pairs[0]
		}
	}
	if len(found[0].Key) > 0 {
		response.KV = found[0]
	}
	return response, c.cause(fence, beside, w, answer.Header.Revision, found)
}

// cause returns which condition of a transaction did not hold, by the pairs that it has read: the object, the keys beside it, and the key
// of the fence. It returns nil if it was that of the object.
func (fencedClient) cause(fence Fence, beside *Beside, w objectWrite, revision int64, found []*mvccpb.KeyValue) error {
	if fence.Key != "" {
		if current := found[len(found)-1].ModRevision; current != fence.Revision {
			return &FenceError{Fence: fence, Current: current}
		}
	}
	if found[0].ModRevision != w.expected {
		return nil
	}
	var created []int64
	for _, pair := range found[1:] {
		created = append(created, pair.CreateRevision)
	}
	if fence.Key != "" || len(fence.Spans) == 0 || !beside.holds(created) {
		return errBeside
	}
	// The key itself was not written, so a key of the spans was.
	return &FenceError{Fence: fence, Current: revision}
}

// Replace stores another value under the key of a pair, if the stored pair is still this one and the fence of the context holds. The key
// keeps its lease. It reports whether it stored the value.
func (c *Client) Replace(ctx context.Context, pair Pair, value []byte) (bool, error) {
	put := func() clientv3.Op { return clientv3.OpPut(pair.Key, string(value), clientv3.WithIgnoreLease()) }
	if _, ok := FenceOf(ctx); ok {
		answer, err := fencedClient{kv: c.shared.KV}.write(ctx, objectWrite{key: pair.Key, expected: pair.Revision, op: put})
		return answer.Succeeded, err
	}
	same := clientv3.Compare(clientv3.ModRevision(pair.Key), "=", pair.Revision)
	answer, err := c.shared.Txn(ctx).If(same).Then(put()).Commit()
	if err != nil {
		return false, fmt.Errorf("write %s: %w", pair.Key, err)
	}
	return answer.Succeeded, nil
}
