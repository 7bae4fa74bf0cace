package builtin

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/subresource"
	"holdfast.dev/holdfast/apiserver/update"
	"holdfast.dev/holdfast/native/rules"
)

// statusStrategy lets a write change status and nothing else.
type statusStrategy struct{ strategy }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (statusStrategy) AllowCreateOnUpdate(context.Context) bool { return false }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s statusStrategy) PrepareForUpdate(_ context.Context, newObj, oldObj runtime.Object) {
	status := reflect.New(statusOf(newObj).Type()).Elem()
	status.Set(statusOf(newObj))
	managers, version := objectMeta(newObj).GetManagedFields(), objectMeta(newObj).GetResourceVersion()

	reflect.ValueOf(newObj).Elem().Set(reflect.ValueOf(oldObj.DeepCopyObject()).Elem())
	statusOf(newObj).Set(status)
	objectMeta(newObj).SetManagedFields(managers)
	objectMeta(newObj).SetResourceVersion(version)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (statusStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, validateStatus)
}

func validateStatus(_ context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return rules.ValidateStatus(newObj, oldObj)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return subresource.ResetFields(subresource.TopLevel("spec", "metadata"), s.kind.GroupVersion)
}

// newStatus serves a subresource that writes the status of a kind.
func newStatus(store *genericregistry.Store, s subresource.StatusStrategy) *subresource.Status {
	main := *store
	// A write to a status allocates and releases nothing; the main resource does.
	main.BeginUpdate, main.AfterDelete = nil, nil
	return subresource.NewStatus(&main, s)
}
