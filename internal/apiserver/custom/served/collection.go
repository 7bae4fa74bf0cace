package served

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/admission/keep"
)

// collections deletes collections without the objects that must be kept.
type collections struct{ *genericregistry.Store }

// DeleteCollection implements rest.CollectionDeleter.
func (c collections) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, which *internalversion.ListOptions,
) (runtime.Object, error) {
	collection := keep.NewCollection(c.DefaultQualifiedResource, options, which)
	found, err := c.Store.DeleteCollection(ctx, collection.Skip(validate), options, which)
	return collection.Result(found, err)
}
