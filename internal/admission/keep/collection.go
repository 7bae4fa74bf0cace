package keep

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Collection is the deletion of a collection. It leaves out kept objects:
//
//	collection := keep.NewCollection(resource)
//	found, err := store.DeleteCollection(ctx, collection.Skip(validate), options, which)
//	return collection.Result(found, err)
type Collection struct {
	resource schema.GroupResource

	mu   sync.Mutex
	seen map[string]bool
	kept kept
}

// NewCollection returns the deletion of a collection of a resource.
func NewCollection(resource schema.GroupResource) *Collection {
	return &Collection{resource: resource, seen: map[string]bool{}}
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
	verb := "were"
	if c.kept.count == 1 {
		verb = "was"
	}
	message := fmt.Sprintf("%s of %s must be kept and %s not deleted: %s; all others were deleted; %s",
		c.kept.objects(), c.resource, verb, c.kept.names(), c.kept.causes[0].Message)
	return nil, conflict(target{resource: c.resource}, message, c.kept.causes)
}
