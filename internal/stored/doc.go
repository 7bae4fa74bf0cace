// Package stored follows the custom resources of a server where the server stores them: first a list, then all changes that are newer.
//
//	watches := stored.New("garbage", objects)
//	stop := watches.Follow(ctx, resource, receiver)
//
// It has one watch for each API group. A watch of each kind through the API would keep the schema and the watch cache of every custom
// resource in memory, also of those that no client uses. If the objects cannot be read, it tries again until ctx ends.
package stored

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// listsAtOnce bounds how many kinds are listed at the same time.
	listsAtOnce = 8

	// A list or a watch that failed is tried again after firstRetry, then after twice as long each time, up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// Objects reads objects where a server stores them. An object has the form T there.
type Objects[T any] interface {
	// List returns all objects of a resource.
	List(ctx context.Context, resource schema.GroupResource) (List[T], error)
	// Watch calls change for every change of an object of an API group, in order. It calls begun
	// once: all changes from then on will be seen. The error is never nil.
	Watch(ctx context.Context, group string, begun func(), change func(Change[T])) error
}

// List are the objects of a resource at a revision of the store.
type List[T any] struct {
	Items    []T
	Revision int64
}

// Change is a change of one object.
type Change[T any] struct {
	Resource schema.GroupResource
	// Object has at least its name and namespace. It has nothing else if the object was deleted.
	Object  T
	Deleted bool
	// Revision is the revision of the store after the change.
	Revision int64
	// Err is the reason that the object cannot be read.
	Err error
}

// Receiver receives the objects of one resource. Its methods are never called at the same time.
type Receiver[T any] interface {
	// Replace is called with all objects that exist.
	Replace(objects []T)
	// Change is called with an object that changed after that.
	Change(change Change[T])
	// Fail is called with the reason that the objects cannot be read. Replace is called when they can be read again.
	Fail(ctx context.Context, err error)
}
