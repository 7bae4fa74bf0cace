package recording

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	apistorage "k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// namespaceResource is the resource of namespaces.
var namespaceResource = schema.GroupResource{Resource: "namespaces"}

// namespaces says whose objects are on. It sees the writes of this server at once, and those of other servers through a watch. It
// implements storage.Observer.
type namespaces struct {
	// any says that there is a namespace whose objects are on.
	any atomic.Bool

	mu    sync.RWMutex
	known map[string]namespace
}

type namespace struct {
	version uint64
	on      bool
}

var _ storage.Observer = &namespaces{}

func newNamespaces() *namespaces { return &namespaces{known: map[string]namespace{}} }

// areOn reports whether the objects of a namespace are on if they do not have the label.
func (n *namespaces) areOn(name string) bool {
	if !n.any.Load() {
		return false
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.known[name].on
}

// see notes a namespace that was written.
func (n *namespaces) see(obj runtime.Object, versioner apistorage.Versioner) {
	// The store has decoded the namespace, so it has a version.
	if version, err := versioner.ObjectResourceVersion(obj); err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.set(obj, version)
	}
}

// set notes a namespace at a version. The caller holds the lock.
func (n *namespaces) set(obj runtime.Object, version uint64) {
	accessor, ok := obj.(metav1.Object)
	if !ok || n.known[accessor.GetName()].version > version {
		return
	}
	on := label(obj, accessor) == fieldhistory.LabelFields
	n.known[accessor.GetName()] = namespace{version, on}
	if on {
		n.any.Store(true)
	}
}

// Begin implements storage.Observer.
func (*namespaces) Begin(func(context.Context) error) {}

// Progress implements storage.Observer.
func (*namespaces) Progress(uint64) {}

// Replace implements storage.Observer.
func (n *namespaces) Replace(objs []runtime.Object, version uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, known := range n.known {
		if known.version <= version {
			delete(n.known, name)
		}
	}
	for _, obj := range objs {
		n.set(obj, version)
	}
}

// Change implements storage.Observer.
func (n *namespaces) Change(event watch.EventType, obj runtime.Object, version uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if event != watch.Deleted {
		n.set(obj, version)
		return
	}
	if accessor, ok := obj.(metav1.Object); ok && n.known[accessor.GetName()].version <= version {
		delete(n.known, accessor.GetName())
	}
}

// Observe adds the observer of the recorder to those of other parts of the server.
func (r *Recorder) Observe(others map[schema.GroupResource]storage.Observer) map[schema.GroupResource]storage.Observer {
	all := maps.Clone(others)
	var own storage.Observer = r.namespaces
	if other := all[namespaceResource]; other != nil {
		own = storage.Observers{other, own}
	}
	all[namespaceResource] = own
	return all
}
