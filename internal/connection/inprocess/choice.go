//go:build !plain

package inprocess

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
)

// NewFactory returns a factory of informers. Its informers of built-in kinds read from source. If source is nil, they read through the API. If
// a caller passes a function that creates an informer to the method InformerFor of the factory, that informer reads through the API, because
// it may select objects.
func NewFactory(server *connection.Connection, source Source) informers.SharedInformerFactory {
	if source == nil {
		return informers.NewSharedInformerFactory(server.Typed, 0)
	}
	return newFactory(server, source)
}

// Objects calls the source. A source that is nil has no objects.
func (s Source) Objects(resource schema.GroupVersionResource) cache.ListerWatcherWithContext {
	if s == nil {
		return nil
	}
	return s(resource)
}
