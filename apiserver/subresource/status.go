package subresource

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Status serves the status of the objects of a store, or another subresource that
// writes a part of the whole object.
type Status struct{ store *genericregistry.Store }

var (
	_ rest.Patcher             = &Status{}
	_ rest.ResetFieldsStrategy = &Status{}
	_ rest.TableConvertor      = &Status{}
)

// StatusStrategy prepares and validates a write to a status.
type StatusStrategy interface {
	rest.RESTUpdateStrategy
	rest.ResetFieldsStrategy
}

// NewStatus returns the status subresource of a store. It copies the store, so later
// changes of the store's fields have no effect on it.
func NewStatus(store *genericregistry.Store, strategy StatusStrategy) *Status {
	status := *store
	status.CreateStrategy, status.DeleteStrategy = nil, nil
	status.UpdateStrategy, status.ResetFieldsStrategy = strategy, strategy
	return &Status{store: &status}
}

// Store is the store that the status is written through.
func (r *Status) Store() *genericregistry.Store { return r.store }

// New implements rest.Storage.
func (r *Status) New() runtime.Object { return r.store.New() }

// Destroy implements rest.Storage. It does nothing: the store of the objects is
// destroyed once, by its owner.
func (*Status) Destroy() {}

// Get implements rest.Getter.
func (r *Status) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update implements rest.Updater. A write to a status never creates the object.
func (r *Status) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r *Status) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (r *Status) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, options)
}
