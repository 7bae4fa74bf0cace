package garbage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// objects returns the objects of a kind. Another server may begin or end to answer the requests for
// a kind at any time, so the caller asks again before each list and each watch.
func (c Config) objects(k *kind) cache.ListerWatcherWithContext {
	if objects := c.InProcess.Objects(k.GroupVersionResource); objects != nil {
		return objects
	}
	return apiObjects{c.Metadata.Resource(k.GroupVersionResource)}
}

// apiObjects lists and watches metadata through the API.
type apiObjects struct{ resource metadata.ResourceInterface }

// ListWithContext implements cache.ListerWatcherWithContext.
func (o apiObjects) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := o.resource.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (o apiObjects) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return o.resource.Watch(ctx, options)
}
