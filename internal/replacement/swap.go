package replacement

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Swap is the replacement of one stored object. It is not changed once it is in a context.
type Swap struct {
	Resource schema.GroupResource
	// Key is the key of the object in etcd.
	Key string
	// Old is the object that is replaced, in the API version of the request. It must not be changed.
	Old runtime.Object
	// Revision is the revision of the last write of the old object: the store replaces only this state.
	Revision int64
	// Kind is that of the object.
	Kind string
	// Dependents says what becomes of the dependents of the old object.
	Dependents Dependents
	// DryRun says that nothing is written.
	DryRun bool
}

type key struct{}

// With returns a context in which the create of the object with the key of the swap replaces the old object.
func With(ctx context.Context, swap *Swap) context.Context {
	return context.WithValue(ctx, key{}, swap)
}

// From returns the swap of a context, nil if there is none.
func From(ctx context.Context) *Swap {
	swap, _ := ctx.Value(key{}).(*Swap)
	return swap
}

// For returns the swap of a context if it replaces the object with a key, and otherwise nil: a request may write other objects too.
func For(ctx context.Context, objectKey string) *Swap {
	if swap := From(ctx); swap != nil && swap.Key == objectKey {
		return swap
	}
	return nil
}

// Record returns what the store writes beside the object that replaces the old one, nil for nothing.
func (s *Swap) Record(created metav1.Object, now time.Time) *Record {
	old, err := meta.Accessor(s.Old)
	if err != nil || s.Dependents == Collect {
		return nil
	}
	record := &Record{
		Group: s.Resource.Group, Kind: s.Kind, Namespace: old.GetNamespace(), Name: old.GetName(), Old: old.GetUID(), Time: now,
	}
	if s.Dependents == Adopt {
		record.New = created.GetUID()
	}
	return record
}
