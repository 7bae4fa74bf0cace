package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver/aggregation"
	"holdfast.dev/holdfast/internal/apiserver/sharing"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/connection/inprocess"
)

// newInProcess returns the source of the informers and of the garbage collector. It has the objects of the stores, except those of a
// resource for which another server answers the requests. What the informers keep shares its parts with the watch caches.
func newInProcess(
	stores map[schema.GroupResource]*genericregistry.Store, router *aggregation.Router, shared *sharing.Objects,
) inprocess.Source {
	return func(resource schema.GroupVersionResource) cache.ListerWatcherWithContext {
		store := stores[resource.GroupResource()]
		if store == nil || router.IsRemote(resource.GroupVersion()) {
			return nil
		}
		return storage.NewKeptObjects(store, resource.GroupResource(), shared)
	}
}
