package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/operator/api"
)

const (
	// manager owns the fields that plans apply.
	manager = "holdfast-operators"

	// workers run plans of different Instances at the same time.
	workers = 4

	// A run that waits or failed is looked at again after firstRetry, then after
	// twice as long each time it did not get on.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// errNotYet says that nothing went wrong and there is more to do.
var errNotYet = errors.New("not yet")

// Config says how the controller reaches the API server.
type Config struct {
	// Client is the way to the API server. Its user reads OperatorVersions, writes
	// Instances and impersonates those who write them. It is copied; its rate
	// limit is not used.
	Client *rest.Config
	// Unattended means that nobody may be there who runs workloads: an object
	// whose status nobody ever set is not waited for.
	Unattended bool
}

// controller runs plans.
type controller struct {
	config     *rest.Config
	http       *http.Client
	own        dynamic.Interface
	kinds      *restmapper.DeferredDiscoveryRESTMapper
	unattended bool
	queue      workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// Run runs plans until ctx ends. Its errors are those of a config that cannot
// work. Only one controller at a time may run for a server.
func Run(ctx context.Context, config Config) error {
	if config.Client == nil {
		return errors.New("client of the operator controller: required")
	}
	c := &controller{config: rest.CopyConfig(config.Client), unattended: config.Unattended}
	c.config.UserAgent = manager
	c.config.QPS, c.config.RateLimiter = -1, nil
	var err error
	if c.http, err = rest.HTTPClientFor(c.config); err != nil {
		return fmt.Errorf("client of the operator controller: %w", err)
	}
	defer utilnet.CloseIdleConnectionsFor(c.http.Transport)
	if c.own, err = dynamic.NewForConfigAndClient(c.config, c.http); err != nil {
		return fmt.Errorf("client of the operator controller: %w", err)
	}
	found, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return fmt.Errorf("client of the operator controller: %w", err)
	}
	c.kinds = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstRetry, lastRetry)
	c.queue = workqueue.NewTypedRateLimitingQueue(limiter)
	return c.run(ctx)
}

func (c *controller) run(ctx context.Context) error {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.own, instances, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.enqueue(nil, obj) },
		UpdateFunc: c.enqueue,
		DeleteFunc: func(obj any) { c.enqueue(obj, nil) },
	}); err != nil {
		return fmt.Errorf("watch instances: %w", err)
	}
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	for range workers {
		running.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	return nil
}

// enqueue has an Instance looked at when somebody wants something of it, and the
// one that waits for it at every change. Our own writes of a status are no news.
func (c *controller) enqueue(oldObj, newObj any) {
	if gone, isGone := oldObj.(cache.DeletedFinalStateUnknown); isGone {
		oldObj = gone.Obj
	}
	before, _ := oldObj.(metav1.Object)
	after, _ := newObj.(metav1.Object)
	changed := after
	if after == nil {
		changed = before
	} else if before == nil || before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) {
		c.queue.Add(cache.MetaObjectToName(after))
	}
	if changed == nil {
		return
	}
	for _, owner := range changed.GetOwnerReferences() {
		if owner.Kind == "Instance" && owner.APIVersion == api.GroupVersion.String() {
			c.queue.Add(cache.ObjectName{Namespace: changed.GetNamespace(), Name: owner.Name})
		}
	}
}

// next looks at the next Instance; false means that the queue is shut down.
func (c *controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	progressed, err := c.reconcile(ctx, name)
	if progressed || err == nil {
		c.queue.Forget(name)
	}
	if err == nil || ctx.Err() != nil {
		return true
	}
	// A conflict is the answer to a view that was a moment old.
	if !errors.Is(err, errNotYet) && !apierrors.IsConflict(err) {
		klog.ErrorS(err, "will be tried again", "controller", manager, "instance", name)
	}
	c.queue.AddRateLimited(name)
	return true
}
