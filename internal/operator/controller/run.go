package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/deletion"
	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	// manager is the field manager of the objects that plans apply.
	manager = api.PlanManager

	// workers is the number of Instances that run a plan at the same time, and workersPerNamespace
	// how many of them may be in one namespace. Rendering the templates of a plan may take a worker
	// for half a minute.
	workers             = 16
	workersPerNamespace = 2

	// A run that waits or failed is retried after firstRetry, then after twice as
	// long each time, up to lastRetry. A step that completes resets the delay.
	firstRetry = 200 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// Config is the configuration of the controller.
type Config struct {
	// Client is the config of the API server. Its user needs the rights to read
	// OperatorVersions and ServiceAccounts, to write Instances and Events, and to
	// impersonate the users that write Instances. It is copied; its rate limit is not used.
	Client *rest.Config
	// Keys open the records of requesters and authors. They are the keys of admission.
	Keys *authorship.Keyring
	// Deletions has the users that deleted Instances.
	Deletions *deletion.Store
	// Metrics count the plans. Nil means that nothing reads them.
	Metrics *Metrics
	// Unattended is for a server that may have no workload controllers. Plans then do
	// not wait for objects without a status set by a controller.
	Unattended bool
}

// controller runs plans.
type controller struct {
	// server has the rights of the controller; a writer has those of the requester.
	server     *connection.Connection
	kinds      *restmapper.DeferredDiscoveryRESTMapper
	keys       *authorship.Keyring
	deletions  *deletion.Store
	unattended bool
	metrics    *Metrics
	loop       *reconcile.Loop[cache.ObjectName]
	events     record.EventRecorder
	rehearsals rehearsals
	runs       runs
	// clusterScoped is held while a cluster-scoped object is read and written, so that two
	// Instances that begin to share it do not overwrite each other's entry in its owners.
	clusterScoped sync.Mutex
}

// Run runs plans until ctx ends. It returns an error only if the config cannot work.
// Only one controller at a time may run for a server.
func Run(ctx context.Context, config Config) error {
	server, err := connection.Open(config.Client, connection.Options{UserAgent: manager})
	if err != nil {
		return fmt.Errorf("client of the operator controller: %w", err)
	}
	defer server.Close()
	c := &controller{
		server:     server,
		kinds:      restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(server.Discovery)),
		keys:       config.Keys,
		deletions:  config.Deletions,
		unattended: config.Unattended,
		metrics:    config.Metrics,
	}
	if c.metrics == nil {
		c.metrics = NewMetrics()
	}
	stop, err := c.startEvents(ctx)
	if err != nil {
		return fmt.Errorf("events of the operator controller: %w", err)
	}
	defer stop()
	if err := c.deletions.Sweep(ctx, c.exists(ctx)); err != nil {
		klog.ErrorS(err, "records of deleted instances are left", "controller", manager)
	}
	return c.run(ctx)
}

// run watches Instances and reconciles them until ctx ends.
func (c *controller) run(ctx context.Context) error {
	c.loop = reconcile.New(reconcile.Config[cache.ObjectName]{
		Workers: workers, WorkersPerGroup: workersPerNamespace, Group: func(name cache.ObjectName) string { return name.Namespace },
		FirstRetry: firstRetry, LastRetry: lastRetry, Log: logRetry, Reconcile: c.work,
	})
	defer c.loop.ShutDown()
	informer := dynamicinformer.NewFilteredDynamicInformer(
		c.server.Dynamic, instances, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.enqueue(nil, obj) },
		UpdateFunc: c.enqueue,
		DeleteFunc: func(obj any) { c.enqueue(obj, nil) },
	}); err != nil {
		return fmt.Errorf("watch instances: %w", err)
	}
	defer c.metrics.follow(informer.GetStore())()
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	c.loop.Run(ctx)
	running.Wait()
	return nil
}

// work reconciles an Instance. It ends the run of a plan when the Instance is deleted or the plan is cancelled.
func (c *controller) work(ctx context.Context, name cache.ObjectName) (reconcile.Result, error) {
	run, end := c.runs.begin(ctx, name)
	defer end()
	progressed, err := c.reconcile(ctx, run, name)
	if err != nil && run.Err() != nil {
		// The next call finds that the Instance is gone, or that it has another plan or none.
		return reconcile.Result{Progressed: true}, reconcile.ErrNotYet
	}
	return reconcile.Result{Progressed: progressed}, err
}

// enqueue enqueues an Instance when it is new, when its generation changes or when its
// deletion begins. A write of the status does not change the generation, so the progress
// that the controller stores does not enqueue the Instance again. With every change,
// enqueue also enqueues the Instances that own the changed one, because their plans may
// wait for it. When an Instance is deleted or its plan is cancelled, enqueue ends the run of the plan.
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
		c.loop.Add(cache.MetaObjectToName(after))
	}
	if changed == nil {
		return
	}
	if after == nil || (before != nil && endsRun(before, after)) {
		c.runs.end(cache.MetaObjectToName(changed))
	}
	for _, owner := range changed.GetOwnerReferences() {
		if owner.Kind == "Instance" && owner.APIVersion == api.GroupVersion.String() {
			c.loop.Add(cache.ObjectName{Namespace: changed.GetNamespace(), Name: owner.Name})
		}
	}
}

// logRetry logs an error that is retried.
func logRetry(_ context.Context, name cache.ObjectName, err error) {
	klog.ErrorS(err, "will be tried again", "controller", manager, "instance", name)
}
