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

// monitor keeps the graph up to date with the objects of one kind.
type monitor struct {
	kind  *kind
	graph *graph
	// changed is called for every change, if it is not nil.
	changed func()

	cancel context.CancelFunc
	ended  chan struct{}
	// listed is closed when all objects there were are in the graph.
	listed chan struct{}
	once   sync.Once
}

func startMonitor(ctx context.Context, client metadata.Interface, m *monitor) {
	m.graph.census.Begin(m.kind.GroupResource())
	ctx, m.cancel = context.WithCancel(ctx)
	m.ended, m.listed = make(chan struct{}), make(chan struct{})
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
		defer close(m.ended)
		reflector.RunWithContext(ctx)
	}()
}

// stop ends the watch; the graph forgets what it showed.
func (m *monitor) stop() {
	m.cancel()
	<-m.ended
	m.graph.census.End(m.kind.GroupResource())
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

func (m *monitor) note() {
	if m.changed != nil {
		m.changed()
	}
}

// Add implements cache.ReflectorStore.
func (m *monitor) Add(obj any) error {
	if meta, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.graph.observe(newObject(m.kind, meta))
		m.note()
	}
	return nil
}

// Update implements cache.ReflectorStore.
func (m *monitor) Update(obj any) error { return m.Add(obj) }

// Delete implements cache.ReflectorStore.
func (m *monitor) Delete(obj any) error {
	if meta, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.graph.deleted(meta.UID)
		m.note()
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
	m.once.Do(func() {
		close(m.listed)
		m.graph.census.Listed(m.kind.GroupResource())
	})
	m.note()
	return nil
}

// Resync implements cache.ReflectorStore.
func (*monitor) Resync() error { return nil }
