package write

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/update"
)

// StatusStrategy validates only the status. The handler has restored everything else, see keepOtherPart.
type StatusStrategy struct{ Strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy. The generation counts changes of the rest of the object.
func (StatusStrategy) PrepareForUpdate(context.Context, runtime.Object, runtime.Object) {}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s StatusStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, s.validateStatus)
}

// keepAllButStatus replaces updated by old, except for status, managedFields and resourceVersion. A write to the status subresource changes
// nothing else.
func keepAllButStatus(updated, old *object.Object) {
	status, ok := updated.Object["status"]
	managers, version := updated.GetManagedFields(), updated.GetResourceVersion()
	updated.Object = object.Share(old.Object)
	delete(updated.Object, "status")
	if ok {
		updated.Object["status"] = status
	}
	updated.SetManagedFields(managers)
	updated.SetResourceVersion(version)
}
