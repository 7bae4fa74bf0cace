package served

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/custom/write"
)

// currentDelete deletes objects by the definition that their version serves, see write.WhileCurrent. The deletion of an object with
// finalizers stores the object, in the storage version of that definition. A collection is deleted without the objects that must be kept.
type currentDelete struct {
	*genericregistry.Store
	version *Version
}

// Delete implements rest.GracefulDeleter.
func (d currentDelete) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (result runtime.Object, deleted bool, err error) {
	err = write.WhileCurrent(ctx, current{d.version}, d.DefaultQualifiedResource, func(ctx context.Context, _ error) (err error) {
		result, deleted, err = d.Store.Delete(ctx, name, validate, options)
		return err
	})
	return result, deleted, err
}

// DeleteCollection implements rest.CollectionDeleter.
func (d currentDelete) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, which *internalversion.ListOptions,
) (result runtime.Object, err error) {
	err = write.WhileCurrent(ctx, current{d.version}, d.DefaultQualifiedResource, func(ctx context.Context, _ error) error {
		collection := keep.NewCollection(d.DefaultQualifiedResource, options, which)
		found, err := d.Store.DeleteCollection(ctx, collection.Skip(validate), options, which)
		result, err = collection.Result(found, err)
		return err
	})
	return result, err
}
