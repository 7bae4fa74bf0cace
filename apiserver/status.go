package apiserver

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
func (statusStrategy) ValidateUpdate(_ context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return rules.ValidateStatus(newObj, oldObj)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.resetFields(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata"))
}

// statusREST serves the status subresource of a kind on the kind's own store.
type statusREST struct {
	store *genericregistry.Store
}

var (
	_ rest.Patcher             = &statusREST{}
	_ rest.ResetFieldsStrategy = &statusREST{}
	_ rest.TableConvertor      = &statusREST{}
)

// writesStatus is a strategy for a subresource that writes status.
type writesStatus interface {
	rest.RESTUpdateStrategy
	rest.ResetFieldsStrategy
}

func newStatusREST(store *genericregistry.Store, s writesStatus) *statusREST {
	status := *store
	status.CreateStrategy = nil
	status.DeleteStrategy = nil
	status.UpdateStrategy = s
	status.ResetFieldsStrategy = s
	// What is allotted to an object is allotted on its main resource.
	status.BeginUpdate, status.AfterDelete = nil, nil
	return &statusREST{store: &status}
}

// New implements rest.Storage.
func (r *statusREST) New() runtime.Object { return r.store.New() }

// Destroy implements rest.Storage; the kind's own store is destroyed once.
func (*statusREST) Destroy() {}

// Get implements rest.Getter.
func (r *statusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update implements rest.Updater. A status never creates its object.
func (r *statusREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *statusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (r *statusREST) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, options)
}
