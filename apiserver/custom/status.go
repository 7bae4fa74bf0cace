package custom

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/subresource"
	"holdfast.dev/holdfast/apiserver/update"
)

// statusStrategy lets a write change the status and nothing else.
type statusStrategy struct{ strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (statusStrategy) PrepareForUpdate(_ context.Context, newObj, oldObj runtime.Object) {
	keepAllButStatus(content(newObj), content(oldObj))
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s statusStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, s.version.validateStatus)
}

// keepAllButStatus replaces updated by old, except for status, managedFields and
// resourceVersion. A write to the status subresource changes nothing else.
func keepAllButStatus(updated, old *object) {
	status, ok := updated.Object["status"]
	managers, version := updated.GetManagedFields(), updated.GetResourceVersion()
	updated.Object = share(old.Object)
	delete(updated.Object, "status")
	if ok {
		updated.Object["status"] = status
	}
	updated.SetManagedFields(managers)
	updated.SetResourceVersion(version)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	names := []string{"metadata"}
	for _, name := range s.version.compiled.Skeleton.Fields() {
		switch name {
		case "status", "metadata", "apiVersion", "kind":
		default:
			names = append(names, name)
		}
	}
	return subresource.ResetFields(subresource.TopLevel(names...), s.version.groupVersion())
}

// newStatus returns the status subresource of a version. It uses a copy of the store of
// the objects, with the update check of the status.
func newStatus(v *version) *subresource.Status {
	store := *v.store
	store.BeginUpdate = v.compareStatusUpdate
	return subresource.NewStatus(&store, statusStrategy{newStrategy(v)})
}
