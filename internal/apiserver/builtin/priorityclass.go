package builtin

import (
	"context"
	"errors"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/admission/scheduling"
)

// priorityClassREST refuses to delete the PriorityClasses of the system, because system pods
// refer to them.
type priorityClassREST struct{ *kindREST }

var (
	_ rest.GracefulDeleter   = &priorityClassREST{}
	_ rest.CollectionDeleter = &priorityClassREST{}
)

// Delete implements rest.GracefulDeleter.
func (r *priorityClassREST) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	return r.kindREST.Delete(ctx, name, keepSystemClasses(validate), options)
}

// DeleteCollection implements rest.CollectionDeleter.
func (r *priorityClassREST) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *internalversion.ListOptions,
) (runtime.Object, error) {
	return r.kindREST.DeleteCollection(ctx, keepSystemClasses(validate), options, list)
}

// keepSystemClasses rejects the deletion of a class of the system, with the wording of
// Kubernetes.
func keepSystemClasses(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if name := objectMeta(obj).GetName(); scheduling.IsSystemClass(name) {
			return apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), name,
				errors.New("this is a system priority class and cannot be deleted"))
		}
		if validate == nil {
			return nil
		}
		return validate(ctx, obj)
	}
}
