package write

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
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

// GetResetFields implements rest.ResetFieldsStrategy.
func (s StatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	names := []string{"metadata"}
	for _, name := range s.Version.Compiled.Skeleton.Fields() {
		switch name {
		case "status", "metadata", "apiVersion", "kind":
		default:
			names = append(names, name)
		}
	}
	return subresource.ResetFields(subresource.TopLevel(names...), s.Version.GroupVersion())
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
