package keep

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// Collection is the deletion of a collection. It leaves out kept objects:
//
//	collection := keep.NewCollection(resource, options, which)
//	found, err := store.DeleteCollection(ctx, collection.Skip(validate), options, which)
//	return collection.Result(found, err)
type Collection struct {
	resource schema.GroupResource
	dryRun   bool
	which    internalversion.ListOptions

	mu   sync.Mutex
	seen map[string]bool
	kept kept
}

// NewCollection returns the deletion of a collection of a resource. which may be nil.
func NewCollection(resource schema.GroupResource, options *metav1.DeleteOptions, which *internalversion.ListOptions) *Collection {
	c := &Collection{resource: resource, dryRun: options != nil && dryrun.IsDryRun(options.DryRun), seen: map[string]bool{}}
	if which != nil {
		c.which = *which
	}
	return c
}

// Skip returns the validation of one deletion. For a kept object its error is NotFound, which the registry store of the library
// ignores in a collection.
func (c *Collection) Skip(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	if validate == nil {
		return nil
	}
	return func(ctx context.Context, obj runtime.Object) error {
		err := validate(ctx, obj)
		if object, ok := obj.(metav1.Object); ok && IsRefusal(err) {
			c.Leave(object, err)
			return apierrors.NewNotFound(c.resource, object.GetName())
		}
		return err
	}
}

// Leave records that an object was not deleted because of a refusal. The store may ask several times for one object.
func (c *Collection) Leave(object metav1.Object, refused error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	if c.seen[name] {
		return
	}
	c.seen[name] = true
	cause := metav1.StatusCause{Type: CauseTypeObjectKept, Message: name}
	var status apierrors.APIStatus
	if errors.As(refused, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		first := status.Status().Details.Causes[0]
		cause.Field, cause.Message = first.Field, name+": "+first.Message
	}
	c.kept.add(name, cause)
}

// Result returns the result of the deletion: a refusal that names the objects that stay, if there are any.
func (c *Collection) Result(found runtime.Object, err error) (runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || c.kept.count == 0 {
		return found, err
	}
	stay, others := "were not deleted", "were deleted"
	switch {
	case c.dryRun:
		stay, others = "would not be deleted", "would be deleted"
	case c.kept.count == 1:
		stay = "was not deleted"
	}
	if c.isPage(found) {
		others = "of this page (limit, continue) " + others
	}
	message := fmt.Sprintf("%s of %s must be kept and %s: %s; all others %s; %s",
		c.kept.objects(), c.resource, stay, c.kept.names(), others, c.kept.causes[0].Message)
	return nil, conflict(target{resource: c.resource}, message, c.kept.causes)
}

// isPage reports whether the request was about a part of the collection. Without a limit the store reads page after page, and returns
// the continue token of the first one.
func (c *Collection) isPage(found runtime.Object) bool {
	if c.which.Continue != "" {
		return true
	}
	list, err := meta.ListAccessor(found)
	return c.which.Limit > 0 && err == nil && list.GetContinue() != ""
}
