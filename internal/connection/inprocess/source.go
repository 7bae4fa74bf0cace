package inprocess

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Source returns the objects of a resource in this process, or nil if the reader must ask the API for them. Another server may begin or end
// to answer the requests for a resource at any time, so a reader asks before each list and each watch. The objects implement metav1.Object
// and belong to a watch cache: a reader does not change them. A watch shows the replacement of an object as a change.
type Source func(resource schema.GroupVersionResource) cache.ListerWatcherWithContext

// Keeper is implemented by objects of a Source that informers may keep, and share with the watch cache. An informer copies those of other
// sources.
type Keeper interface {
	// Keep returns what an informer keeps of the object of an event. Objects of lists need no call.
	Keep(obj runtime.Object) runtime.Object
}
