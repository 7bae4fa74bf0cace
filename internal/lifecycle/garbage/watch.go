package garbage

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// monitor watches the objects of one kind and updates the graph.
type monitor struct {
	kind  *kind
	graph *graph
	// definitions is nil unless the kind is CustomResourceDefinition.
	definitions *definitions

	// stopWatch stops the watch. When it returns, the watch does not change the graph any more.
	stopWatch func()
	// listed is closed when all existing objects are in the graph.
	listed     chan struct{}
	listedOnce sync.Once
	started    time.Time

	mu sync.Mutex
	// failed is the error of the last request for objects, nil after a success.
	failed error
}

// startMonitor starts the watch of a kind, which runs until ctx ends or stop is called.
func (c *collector) startMonitor(ctx context.Context, k *kind) *monitor {
	m := &monitor{kind: k, graph: c.graph, listed: make(chan struct{}), started: time.Now()}
	if k.isDefinitions() {
		m.definitions = c.definitions
	}
	m.graph.counter.WatchStarted(k.GroupResource())
	if c.config.Stored != nil && c.config.Stored.Has(k.GroupVersionResource) {
		m.stopWatch = c.stored.Follow(ctx, k.GroupResource(), &storedMonitor{monitor: m})
	} else {
		m.stopWatch = m.watchKind(ctx, c.config)
	}
	return m
}

// watchKind watches the kind in the process or through the API. The returned function ends the watch.
func (m *monitor) watchKind(ctx context.Context, config Config) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := config.objects(m.kind).ListWithContext(ctx, options)
			if err != nil {
				m.setFailed(ctx, err)
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			events, err := config.objects(m.kind).WatchWithContext(ctx, options)
			if err != nil {
				m.setFailed(ctx, err)
				return nil, err
			}
			if m.isListed() {
				m.setFailed(ctx, nil)
			}
			return events, nil
		},
	}, config.Metadata)
	name := m.kind.GroupResource().String()
	reflector := cache.NewReflectorWithOptions(source, nil, m, cache.ReflectorOptions{
		Name: "garbage/" + name, TypeDescription: name,
	})
	go func() {
		defer close(stopped)
		reflector.RunWithContext(ctx)
	}()
	return func() {
		cancel()
		<-stopped
	}
}

// stop stops the watch and removes its objects from the graph.
func (m *monitor) stop() {
	m.stopWatch()
	m.graph.counter.WatchStopped(m.kind.GroupResource())
	m.graph.replace(m.kind, nil)
}

func (m *monitor) isListed() bool {
	select {
	case <-m.listed:
		return true
	default:
		return false
	}
}

// setFailed records the result of a request for objects, and logs when it changes between
// success and failure.
func (m *monitor) setFailed(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		// The collector stops, or the reflector lists the objects again at once.
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil && m.failed == nil:
		klog.ErrorS(err, "objects cannot be read, the deletion of their owners may wait",
			"controller", "garbage", "resource", m.kind.GroupResource())
	case err == nil && m.failed != nil:
		klog.InfoS("objects can be read again", "controller", "garbage", "resource", m.kind.GroupResource())
	}
	m.failed = err
}

// failure returns the reason that the objects cannot be read at the moment, or nil.
func (m *monitor) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil && !m.isListed() && time.Since(m.started) > listTimeout {
		return errSlow
	}
	return m.failed
}

// Add implements cache.ReflectorStore.
func (m *monitor) Add(obj any) error {
	if meta, ok := obj.(metav1.Object); ok {
		m.graph.observe(newObject(m.kind, meta))
		m.definitions.set(meta.GetName(), true)
	}
	return nil
}

// Update implements cache.ReflectorStore. An object with another UID than before has replaced the one of the same name.
func (m *monitor) Update(obj any) error {
	if meta, ok := obj.(metav1.Object); ok {
		m.graph.change(newObject(m.kind, meta))
		m.definitions.set(meta.GetName(), true)
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (m *monitor) Delete(obj any) error {
	if meta, ok := obj.(metav1.Object); ok {
		m.graph.deleted(meta.GetUID())
		m.definitions.set(meta.GetName(), false)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (m *monitor) Replace(list []any, _ string) error {
	objects := make([]*object, 0, len(list))
	for _, obj := range list {
		if meta, ok := obj.(metav1.Object); ok {
			objects = append(objects, newObject(m.kind, meta))
		}
	}
	m.replace(objects)
	return nil
}

// replace replaces all objects of the kind in the graph.
func (m *monitor) replace(objects []*object) {
	m.graph.replace(m.kind, objects)
	m.listedOnce.Do(func() {
		close(m.listed)
		m.graph.counter.Listed(m.kind.GroupResource())
	})
	m.setFailed(context.Background(), nil)
	m.definitions.replace(objects)
}

// Resync implements cache.ReflectorStore.
func (*monitor) Resync() error { return nil }
