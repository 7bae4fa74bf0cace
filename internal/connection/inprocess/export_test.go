package inprocess

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// ListWatch returns the source of an informer.
func ListWatch(source Source, resource schema.GroupVersionResource) *cache.ListWatch {
	return objects{source: source, resource: resource}.listWatch()
}
