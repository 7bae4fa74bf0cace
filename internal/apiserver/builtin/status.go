package builtin

import (
	"context"
	"maps"
	"reflect"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/apiserver/update"
	"holdfast.dev/holdfast/internal/native/rules"
	"holdfast.dev/holdfast/internal/native/warnings"
)

// statusStrategy lets a write change the status, and the metadata that Kubernetes lets it
// change: controllers add annotations and finalizers together with a status.
type statusStrategy struct{ strategy }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (statusStrategy) AllowCreateOnUpdate(context.Context) bool { return false }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s statusStrategy) PrepareForUpdate(_ context.Context, newObj, oldObj runtime.Object) {
	newValue, oldValue := reflect.ValueOf(newObj).Elem(), reflect.ValueOf(oldObj).Elem()
	for i := range newValue.NumField() {
		if isContent(newValue.Type().Field(i).Name) {
			newValue.Field(i).Set(oldValue.Field(i))
		}
	}
	for _, name := range s.kind.StatusKeeps {
		keepMetadata(name, objectMeta(newObj), objectMeta(oldObj))
	}
	if s.kind.PrepareStatus != nil {
		s.kind.PrepareStatus(newObj, oldObj)
	}
}

// keepMetadata sets one field of metadata to its old value.
func keepMetadata(name string, newMeta, oldMeta metav1.Object) {
	switch name {
	case "deletionTimestamp":
		newMeta.SetDeletionTimestamp(oldMeta.GetDeletionTimestamp())
	case "labels":
		newMeta.SetLabels(oldMeta.GetLabels())
	case "annotations":
		newMeta.SetAnnotations(oldMeta.GetAnnotations())
	case "finalizers":
		newMeta.SetFinalizers(oldMeta.GetFinalizers())
	case "ownerReferences":
		newMeta.SetOwnerReferences(oldMeta.GetOwnerReferences())
	}
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s statusStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, validateStatus, s.checkPolicies, s.checkMetadata)
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (statusStrategy) WarningsOnUpdate(_ context.Context, newObj, _ runtime.Object) []string {
	return warnings.OnStatus(newObj)
}

// checkMetadata checks the ownership of the metadata that a write to the status changes. The
// checker ignores the status, because no field of it has an owner.
func (s statusStrategy) checkMetadata(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	newMeta, oldMeta := objectMeta(newObj), objectMeta(oldObj)
	if maps.Equal(newMeta.GetLabels(), oldMeta.GetLabels()) && maps.Equal(newMeta.GetAnnotations(), oldMeta.GetAnnotations()) &&
		slices.Equal(newMeta.GetFinalizers(), oldMeta.GetFinalizers()) &&
		apiequality.Semantic.DeepEqual(newMeta.GetOwnerReferences(), oldMeta.GetOwnerReferences()) {
		return nil
	}
	return s.checkOwnership(ctx, newObj, oldObj)
}

func validateStatus(_ context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return rules.ValidateStatus(newObj, oldObj)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := subresource.TopLevel("spec")
	if s.kind.KeepsMetadata() {
		return subresource.ResetFields(subresource.TopLevel("metadata", "spec"), s.versions()...)
	}
	for _, name := range s.kind.StatusKeeps {
		fields.Insert(fieldpath.MakePathOrDie("metadata", name))
	}
	return subresource.ResetFields(fields, s.versions()...)
}

// newStatus serves a subresource that writes the status of a kind.
func newStatus(store *genericregistry.Store, s subresource.StatusStrategy) *subresource.Status {
	main := *store
	// A write to a status allocates nothing, so BeginUpdate does not run. The write may remove
	// the last finalizer and so delete the object. Then AfterDelete of the main resource
	// releases the object's allocations. It is read when it is called, because other code may
	// set it after newStatus has returned.
	main.BeginUpdate = nil
	main.AfterDelete = func(obj runtime.Object, options *metav1.DeleteOptions) {
		if store.AfterDelete != nil {
			store.AfterDelete(obj, options)
		}
	}
	return subresource.NewStatus(&main, s)
}
