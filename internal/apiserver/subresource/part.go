package subresource

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Part serves a subresource that writes a part of the whole object. The update strategy of its
// store, or the handler of a custom resource, takes the part from the written object and keeps the rest.
type Part struct{ store *genericregistry.Store }

var (
	_ rest.Patcher        = &Part{}
	_ rest.TableConvertor = &Part{}
)

// NewPart returns a subresource of a store. It copies the store, so later changes of the
// store's fields have no effect on it.
func NewPart(store *genericregistry.Store, strategy rest.RESTUpdateStrategy) *Part {
	part := *store
	part.CreateStrategy, part.DeleteStrategy, part.ResetFieldsStrategy = nil, nil, nil
	part.UpdateStrategy = strategy
	return &Part{store: &part}
}

// Store is the store that the part is written through.
func (r *Part) Store() *genericregistry.Store { return r.store }

// New implements rest.Storage.
func (r *Part) New() runtime.Object { return r.store.New() }

// Destroy implements rest.Storage. It does nothing: the store of the objects is
// destroyed once, by its owner.
func (*Part) Destroy() {}

// Get implements rest.Getter.
func (r *Part) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update implements rest.Updater. A write to a part never creates the object.
func (r *Part) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// ConvertToTable implements rest.TableConvertor.
func (r *Part) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, obj, options)
}
