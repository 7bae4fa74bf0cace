package aggregation

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	listers "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"

	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// resyncRemote is how often remote APIServices are checked although nothing changed.
const resyncRemote = 30 * time.Second

// informer delivers the APIServices that keep accepts. It reads from the store in this
// process, and shares the objects with the watch cache of the store.
type informer struct{ shared cache.SharedIndexInformer }

// newInformer returns an informer. A resync of zero means none.
func newInformer(store *genericregistry.Store, keep func(*apiregistrationv1.APIService) bool, resync time.Duration) informer {
	all := storage.NewListWatch(store)
	return informer{cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := all.ListWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return filterList(list, keep), nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := all.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, func(event watch.Event) (watch.Event, bool) { return filterEvent(event, keep) }), nil
		},
	}, &apiregistrationv1.APIService{}, resync, cache.Indexers{})}
}

// Informer implements the interface of the library's informers.
func (i informer) Informer() cache.SharedIndexInformer { return i.shared }

// Lister implements the interface of the library's informers.
func (i informer) Lister() listers.APIServiceLister {
	return listers.NewAPIServiceLister(i.shared.GetIndexer())
}

// filterList returns a list with the items that keep accepts. The list of the store is not
// changed.
func filterList(obj runtime.Object, keep func(*apiregistrationv1.APIService) bool) runtime.Object {
	list, ok := obj.(*apiregistrationv1.APIServiceList)
	if !ok {
		return obj
	}
	out := &apiregistrationv1.APIServiceList{ListMeta: list.ListMeta}
	for i := range list.Items {
		if keep(&list.Items[i]) {
			out.Items = append(out.Items, list.Items[i])
		}
	}
	return out
}

// filterEvent drops the events of objects that keep does not accept. It turns an update to
// such an object into a deletion, because the informer may hold the object from before the
// update. An informer ignores the deletion of an object that it does not hold.
func filterEvent(event watch.Event, keep func(*apiregistrationv1.APIService) bool) (watch.Event, bool) {
	service, ok := event.Object.(*apiregistrationv1.APIService)
	if !ok || event.Type == watch.Bookmark || keep(service) {
		return event, true
	}
	if event.Type == watch.Modified {
		event.Type = watch.Deleted
	}
	return event, event.Type == watch.Deleted
}
