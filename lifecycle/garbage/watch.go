package garbage

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// monitor watches the objects of one kind and updates the graph.
type monitor struct {
	kind  *kind
	graph *graph
	// changed is called for every change of an object. It may be nil.
	changed func()

	cancel context.CancelFunc
	// stopped is closed when the watch has stopped.
	stopped chan struct{}
	// listed is closed when all existing objects are in the graph.
	listed     chan struct{}
	listedOnce sync.Once
}

// startMonitor starts the watch, which runs until ctx ends or stop is called.
func startMonitor(ctx context.Context, client metadata.Interface, m *monitor) {
	m.graph.counter.WatchStarted(m.kind.GroupResource())
	ctx, m.cancel = context.WithCancel(ctx)
	m.stopped, m.listed = make(chan struct{}), make(chan struct{})
	objects := client.Resource(m.kind.GroupVersionResource)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}, client)
	name := m.kind.GroupResource().String()
	reflector := cache.NewReflectorWithOptions(source, &metav1.PartialObjectMetadata{}, m, cache.ReflectorOptions{
		Name: "garbage/" + name, TypeDescription: name,
	})
	go func() {
		defer close(m.stopped)
		reflector.RunWithContext(ctx)
	}()
}

// stop stops the watch and removes its objects from the graph.
func (m *monitor) stop() {
	m.cancel()
	<-m.stopped
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

func (m *monitor) notify() {
	if m.changed != nil {
		m.changed()
	}
}

// Add implements cache.ReflectorStore.
func (m *monitor) Add(obj any) error {
	if meta, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.graph.observe(newObject(m.kind, meta))
		m.notify()
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (m *monitor) Update(obj any) error { return m.Add(obj) }

// Delete implements cache.ReflectorStore.
func (m *monitor) Delete(obj any) error {
	if meta, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.graph.deleted(meta.UID)
		m.notify()
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (m *monitor) Replace(list []any, _ string) error {
	objects := make([]*object, 0, len(list))
	for _, obj := range list {
		if meta, ok := obj.(*metav1.PartialObjectMetadata); ok {
			objects = append(objects, newObject(m.kind, meta))
		}
	}
	m.graph.replace(m.kind, objects)
	m.listedOnce.Do(func() {
		close(m.listed)
		m.graph.counter.Listed(m.kind.GroupResource())
	})
	m.notify()
	return nil
}

// Resync implements cache.ReflectorStore.
func (*monitor) Resync() error { return nil }
