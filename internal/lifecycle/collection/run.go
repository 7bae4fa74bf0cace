package collection

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/internal/references"
)

const (
	workers = 4
	// workersPerNamespace leaves workers for the other namespaces.
	workersPerNamespace = 3
	// firstRetry and lastRetry bound the time after which the controller tries again after an error.
	firstRetry = 250 * time.Millisecond
	lastRetry  = time.Minute
)

// controller marks and deletes objects.
type controller struct {
	Config
	// began is when this process became the leader. No time counts from an earlier moment.
	began time.Time

	loop       *reconcile.Loop[key]
	objects    map[references.Kind]cache.SharedIndexInformer
	namespaces cache.SharedIndexInformer
	members    *members
	memory     *memory
	events     record.EventRecorder

	mu     sync.Mutex
	states map[key]*state
	// waiting has the objects that would be deleted, by the reason for which they are not.
	waiting map[key]string
}

// Run marks and deletes objects until ctx ends.
func Run(ctx context.Context, config Config) error {
	c := &controller{
		Config: config.withDefaults(), members: newMembers(),
		states: map[key]*state{}, waiting: map[key]string{},
	}
	c.began = c.Clock.Now()
	c.loop = reconcile.New(reconcile.Config[key]{
		Reconcile: c.reconcile, Workers: workers, Group: func(k key) string { return k.namespace }, WorkersPerGroup: workersPerNamespace,
		FirstRetry: firstRetry, LastRetry: lastRetry, Clock: c.Clock,
		Log: func(_ context.Context, k key, err error) {
			klog.ErrorS(err, "unused object is not handled, will be tried again", "kind", k.kind, "namespace", k.namespace, "name", k.name)
		},
	})
	defer c.loop.ShutDown()
	c.memory = newMemory(c.Client.CoreV1().Secrets(memoryNamespace), c.loop.Add)
	if err := c.watch(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := c.record(ctx)
	var running sync.WaitGroup
	defer func() {
		cancel()
		c.Informers.Shutdown()
		running.Wait()
		stop()
		c.Metrics.reset()
	}()
	c.Informers.StartWithContext(ctx)
	running.Go(func() { c.memory.run(ctx) })
	synced := []cache.InformerSynced{c.namespaces.HasSynced, c.memory.isLoaded}
	for _, informer := range c.objects {
		synced = append(synced, informer.HasSynced)
	}
	// Without all namespaces and all members of a series, the controller would remove marks.
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	defer c.Index.Subscribe(c.notify)()
	c.loop.Run(ctx)
	return nil
}

// watch adds event handlers to the informers.
func (c *controller) watch() error {
	core := c.Informers.Core().V1()
	c.namespaces = core.Namespaces().Informer()
	c.objects = map[references.Kind]cache.SharedIndexInformer{
		references.ConfigMap: core.ConfigMaps().Informer(), references.Secret: core.Secrets().Informer(),
	}
	for _, informer := range c.objects {
		if err := informer.SetTransform(shrink); err != nil {
			return fmt.Errorf("informer: %w", err)
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(obj any, initial bool) {
				if o, ok := obj.(*object); ok {
					if initial && o.marked {
						c.takeOver(o)
					}
					c.changed(nil, o)
				}
			},
			UpdateFunc: func(before, after any) {
				old, _ := before.(*object)
				if o, ok := after.(*object); ok {
					c.changed(old, o)
				}
			},
			DeleteFunc: func(obj any) {
				if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = deleted.Obj
				}
				if o, ok := obj.(*object); ok {
					c.changed(o, nil)
				}
			},
		}); err != nil {
			return fmt.Errorf("informer: %w", err)
		}
	}
	if err := c.namespaces.SetTransform(shrink); err != nil {
		return fmt.Errorf("informer: %w", err)
	}
	_, err := c.namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: c.namespaceChanged})
	return err
}

// changed enqueues an object of which one state replaces another. One of both may be nil.
func (c *controller) changed(before, after *object) {
	o := after
	if o == nil {
		o = before
	}
	if o.isRelevant() || before != nil && (before.isRelevant() || before.marked) {
		c.loop.Add(o.key())
	}
	for _, changed := range c.members.replace(before, after) {
		c.loop.Add(changed)
	}
}

// namespaceChanged enqueues a namespace if its label or its annotations have changed.
func (c *controller) namespaceChanged(before, after any) {
	old, _ := before.(*object)
	namespace, ok := after.(*object)
	if !ok || old == nil {
		return
	}
	if !maps.Equal(old.Labels, namespace.Labels) || !maps.Equal(old.Annotations, namespace.Annotations) {
		c.loop.Add(key{namespace: namespace.Name})
	}
}

// notify is told of changes by the index.
func (c *controller) notify(kind references.Kind, namespace, name string) {
	if name == "" {
		c.wakeIncomplete(namespace)
		return
	}
	for k, informer := range c.objects {
		if k&kind == 0 {
			continue
		}
		obj, exists, err := informer.GetStore().GetByKey(namespace + "/" + name)
		if o, ok := obj.(*object); err == nil && exists && ok && (o.isRelevant() || o.marked) {
			c.loop.Add(o.key())
		}
	}
}
