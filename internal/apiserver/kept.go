package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/aggregation"
	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/native"
)

// keptObjects implements keep.Objects. It reads built-in kinds from the watch caches, as a list request does, and the metadata of
// custom resources from etcd, which needs neither a compiled definition nor a conversion.
type keptObjects struct {
	builtIn  map[schema.GroupResource]*genericregistry.Store
	readable storage.Readable
	custom   *custom.Server
	router   *aggregation.Router
}

// Namespaced implements keep.Objects. Objects of other API servers are not among them, because those servers delete them.
func (k keptObjects) Namespaced() []schema.GroupVersionResource {
	var found []schema.GroupVersionResource
	for _, kind := range native.Kinds() {
		resource := kind.GroupVersion.WithResource(kind.Resource)
		if kind.Scope == native.Namespaced && resource.GroupResource() != corev1.Resource("events") && !k.router.IsRemote(kind.GroupVersion) {
			found = append(found, resource)
		}
	}
	for _, resource := range k.custom.Namespaced() {
		if !k.router.IsRemote(resource.GroupVersion()) {
			found = append(found, resource)
		}
	}
	return found
}

// List implements keep.Objects.
func (k keptObjects) List(ctx context.Context, query keep.Query) ([]runtime.Object, error) {
	resource := query.Resource.GroupResource()
	if store := k.builtIn[resource]; store != nil {
		list, err := store.List(genericapirequest.WithNamespace(ctx, query.Namespace), &internalversion.ListOptions{})
		if err != nil {
			return nil, err
		}
		return meta.ExtractList(list)
	}
	if !query.MetadataOnly {
		return k.custom.List(ctx, resource, query.Namespace)
	}
	found, err := k.readable.Metadata(ctx, resource, query.Namespace)
	if err != nil {
		return nil, err
	}
	objects := make([]runtime.Object, 0, len(found.Items))
	for i := range found.Items {
		objects = append(objects, &found.Items[i])
	}
	return objects, nil
}
