package garbage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stored reads the metadata of objects where the server stores them. Unlike the API, it does not
// convert objects, and it needs neither the compiled schema nor a watch cache of a kind.
type Stored interface {
	// Has reports whether this server stores the objects of a resource and can watch them: the
	// resource is a custom resource, and no other server answers the requests for it.
	Has(resource schema.GroupVersionResource) bool
	// List returns the objects of a resource in one namespace or, with an empty namespace, in
	// all. For a resource that it cannot watch, it may fail.
	List(ctx context.Context, resource schema.GroupResource, namespace string) (List, error)
	// Watch calls change for every change of an object of an API group, in order. It calls begun
	// once: all changes from then on will be seen. The error is never nil.
	Watch(ctx context.Context, group string, begun func(), change func(Change)) error
}

// List are the objects of a resource at a revision of the store.
type List struct {
	Items    []metav1.PartialObjectMetadata
	Revision int64
}

// Change is a change of one object.
type Change struct {
	Resource schema.GroupResource
	// Object has at least its name and namespace. It has nothing else if the object was deleted.
	Object  metav1.PartialObjectMetadata
	Deleted bool
	// Revision is the revision of the store after the change.
	Revision int64
	// Err is the reason that the object cannot be read.
	Err error
}
