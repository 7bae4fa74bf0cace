package inprocess

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/connection"
)

// objects are all objects of a resource.
type objects struct {
	server   *connection.Connection
	source   Source
	resource schema.GroupVersionResource
}

// listWatch returns the source of an informer.
func (o objects) listWatch() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: o.list, WatchFuncWithContext: o.watch}
}

func (o objects) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	all, err := o.open()
	if err != nil {
		return nil, err
	}
	list, err := all.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	if _, ok := all.(Keeper); ok {
		return list, nil
	}
	return list.DeepCopyObject(), nil
}

func (o objects) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	all, err := o.open()
	if err != nil {
		return nil, err
	}
	events, err := all.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	if keeper, ok := all.(Keeper); ok {
		return kept(events, keeper.Keep), nil
	}
	return kept(events, copyOf), nil
}

// open returns the objects in the process, or those of the API. The latter need no copies, but the server rarely reads them.
func (o objects) open() (cache.ListerWatcherWithContext, error) {
	if objects := o.source(o.resource); objects != nil {
		return objects, nil
	}
	return o.api()
}

// api returns the objects that the API has. They have the types of k8s.io/api, as the objects in the process.
func (o objects) api() (cache.ListerWatcherWithContext, error) {
	config, version := rest.CopyConfig(o.server.Config), o.resource.GroupVersion()
	config.GroupVersion, config.APIPath = &version, "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(config, o.server.HTTP)
	if err != nil {
		return nil, err
	}
	return cache.NewFilteredListWatchFromClient(client, o.resource.Resource, metav1.NamespaceAll, func(*metav1.ListOptions) {}), nil
}

// kept returns a watch with what an informer keeps of the objects of another watch, and ends that watch when it ends itself.
func kept(events watch.Interface, keep func(runtime.Object) runtime.Object) watch.Interface {
	objects := make(chan watch.Event)
	proxy := watch.NewProxyWatcher(objects)
	go func() {
		defer close(objects)
		defer events.Stop()
		for {
			select {
			case event, ok := <-events.ResultChan():
				if !ok {
					return
				}
				select {
				case objects <- watch.Event{Type: event.Type, Object: keep(event.Object)}:
				case <-proxy.StopChan():
					return
				}
			case <-proxy.StopChan():
				return
			}
		}
	}()
	return proxy
}

// copyOf returns a copy of an object of a watch cache. The cache may share one wrapper of an object between its watches.
func copyOf(obj runtime.Object) runtime.Object {
	if shared, ok := obj.(runtime.CacheableObject); ok {
		return shared.GetObject()
	}
	return obj.DeepCopyObject()
}
