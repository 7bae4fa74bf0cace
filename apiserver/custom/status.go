package custom

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// statusStrategy lets a write change the status and nothing else.
type statusStrategy struct{ strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (statusStrategy) PrepareForUpdate(_ context.Context, newObj, oldObj runtime.Object) {
	keepAllButStatus(content(newObj), content(oldObj))
}

// keepAllButStatus puts back what a write to the status leaves alone.
func keepAllButStatus(updated, old *object) {
	status, ok := updated.Object["status"]
	managers, version := updated.GetManagedFields(), updated.GetResourceVersion()
	updated.Object = old.DeepCopy().Object
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
	if shape := s.version.compiled.Structural; shape != nil {
		for name := range shape.Properties {
			switch name {
			case "status", "metadata", "apiVersion", "kind":
			default:
				names = append(names, name)
			}
		}
	}
	return s.resetFields(names...)
}

// statusREST serves the status of objects on the store of the objects.
type statusREST struct{ store *genericregistry.Store }

var (
	_ rest.Patcher             = &statusREST{}
	_ rest.ResetFieldsStrategy = &statusREST{}
)

func newStatusREST(v *version) *statusREST {
	s := statusStrategy{newStrategy(v)}
	store := *v.store
	store.CreateStrategy, store.DeleteStrategy = nil, nil
	store.UpdateStrategy, store.ResetFieldsStrategy = s, s
	store.BeginUpdate = v.beginStatusUpdate
	return &statusREST{store: &store}
}

// New implements rest.Storage.
func (r *statusREST) New() runtime.Object { return r.store.New() }

// Destroy implements rest.Storage; the store is closed once, with its version.
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
