package etcd

import (
	"context"
	"errors"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Beside are changes of other keys that etcd makes in the transaction that writes or deletes an object. Without the object, none of them
// is made.
type Beside struct {
	// Absent are keys that must not exist, and Present pairs whose keys must have this revision Created. Otherwise the Plan is asked
	// again.
	Absent  []string
	Present []Pair
	// Puts are stored, and the keys of Deletes removed. No key may be in both.
	Puts    []Pair
	Deletes []Span
	// Written is called with the revision of the transaction after it succeeded. It may be nil.
	Written func(revision int64)
}

// Plan returns what a Storage writes beside an object, nil for nothing. It is called for each try. again says that the keys of the last
// plan have changed.
type Plan func(ctx context.Context, again bool) (*Beside, error)

type planKey struct{}

// WithPlan returns a context in which a Storage writes other keys beside an object, together with those of the plans that the context has already.
// No two plans may write the same key.
func WithPlan(ctx context.Context, plan Plan) context.Context {
	if former, ok := ctx.Value(planKey{}).(Plan); ok {
		plan = former.and(plan)
	}
	return context.WithValue(ctx, planKey{}, plan)
}

// and returns a plan that carries out both.
func (p Plan) and(other Plan) Plan {
	return func(ctx context.Context, again bool) (*Beside, error) {
		first, err := p(ctx, again)
		if err != nil {
			return nil, err
		}
		second, err := other(ctx, again)
		switch {
		case err != nil || first == nil:
			return second, err
		case second == nil:
			return first, nil
		}
		return &Beside{
			Absent: slices.Concat(first.Absent, second.Absent), Present: slices.Concat(first.Present, second.Present),
			Puts: slices.Concat(first.Puts, second.Puts), Deletes: slices.Concat(first.Deletes, second.Deletes),
			Written: func(revision int64) {
				for _, written := range []func(int64){first.Written, second.Written} {
					if written != nil {
						written(revision)
					}
				}
			},
		}, nil
	}
}

// planOf returns the plan of a context. Without one, the result plans nothing.
func planOf(ctx context.Context) Plan {
	if plan, ok := ctx.Value(planKey{}).(Plan); ok {
		return plan
	}
	return func(context.Context, bool) (*Beside, error) { return nil, nil }
}

// errBeside is the error of a write if the keys beside the object are not as planned. The callers try again.
var errBeside = errors.New("keys beside the object have changed")

// isEmpty reports whether the write changes no other key.
func (b *Beside) isEmpty() bool {
	return b == nil || len(b.Absent)+len(b.Present)+len(b.Puts)+len(b.Deletes) == 0
}

// written says that the write has succeeded.
func (b *Beside) written(revision int64) {
	if b != nil && b.Written != nil {
		b.Written(revision)
	}
}

// conditions are those of a transaction.
func (b *Beside) conditions() []clientv3.Cmp {
	var all []clientv3.Cmp
	if b == nil {
		return all
	}
	for _, key := range b.Absent {
		all = append(all, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
	}
	for _, pair := range b.Present {
		all = append(all, clientv3.Compare(clientv3.CreateRevision(pair.Key), "=", pair.Created))
	}
	return all
}

// operations are those of a transaction.
func (b *Beside) operations() []clientv3.Op {
	var all []clientv3.Op
	if b == nil {
		return all
	}
	for _, span := range b.Deletes {
		all = append(all, clientv3.OpDelete(span.First, clientv3.WithRange(span.End)))
	}
	for _, pair := range b.Puts {
		all = append(all, clientv3.OpPut(pair.Key, string(pair.Value)))
	}
	return all
}

// reads read the keys of the conditions, for holds.
func (b *Beside) reads() []clientv3.Op {
	var all []clientv3.Op
	if b == nil {
		return all
	}
	for _, key := range b.Absent {
		all = append(all, clientv3.OpGet(key, clientv3.WithKeysOnly()))
	}
	for _, pair := range b.Present {
		all = append(all, clientv3.OpGet(pair.Key, clientv3.WithKeysOnly()))
	}
	return all
}

// holds reports whether the conditions held, by the create revisions of their keys. A key that does not exist has zero.
func (b *Beside) holds(created []int64) bool {
	if b == nil {
		return true
	}
	for i := range b.Absent {
		if created[i] != 0 {
			return false
		}
	}
	for i, pair := range b.Present {
		if created[len(b.Absent)+i] != pair.Created {
			return false
		}
	}
	return true
}
