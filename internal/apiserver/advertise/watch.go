package advertise

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coordinationinformers "k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const noResync time.Duration = 0

// watch enqueues work when another client changes the Service, its endpoints or the Leases of
// the servers. The watches are limited to these objects.
func (p *Publisher) watch(ctx context.Context, running *sync.WaitGroup) {
	changed := cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) { p.enqueue() },
		DeleteFunc: func(any) { p.enqueue() },
	}
	selecting := func(tweak func(*metav1.ListOptions)) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(p.config.Client, noResync,
			informers.WithNamespace(metav1.NamespaceDefault), informers.WithTweakListOptions(tweak))
	}
	byName := selecting(func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + name })
	byLabel := selecting(func(o *metav1.ListOptions) { o.LabelSelector = discoveryv1.LabelServiceName + "=" + name })
	all := []cache.SharedIndexInformer{
		byName.Core().V1().Services().Informer(),
		byName.Core().V1().Endpoints().Informer(),
		byLabel.Discovery().V1().EndpointSlices().Informer(),
	}
	handlers := []cache.ResourceEventHandler{changed, changed, changed}
	if p.config.Identity != "" {
		all = append(all, coordinationinformers.NewFilteredLeaseInformer(
			p.config.Client, metav1.NamespaceSystem, noResync, cache.Indexers{},
			func(o *metav1.ListOptions) { o.LabelSelector = identityLabel + "=" + identityValue }))
		// A renewal of a Lease changes nothing for the endpoints.
		handlers = append(handlers, cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { p.enqueue() },
			UpdateFunc: func(oldObj, newObj any) {
				oldLease, isOld := oldObj.(*coordinationv1.Lease)
				newLease, isNew := newObj.(*coordinationv1.Lease)
				if isOld && isNew && oldLease.Annotations[endpointAnnotation] != newLease.Annotations[endpointAnnotation] {
					p.enqueue()
				}
			},
			DeleteFunc: func(any) { p.enqueue() },
		})
	}
	synced := make([]cache.InformerSynced, 0, len(all))
	for i, informer := range all {
		synced = append(synced, informer.HasSynced)
		if _, err := informer.AddEventHandler(handlers[i]); err != nil {
			klog.ErrorS(err, "changes are not seen", "service", name)
			continue
		}
		running.Go(func() { informer.Run(ctx.Done()) })
	}
	running.Go(func() {
		// The informers report no deletion that happened before their first list.
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			p.enqueue()
		}
	})
}
