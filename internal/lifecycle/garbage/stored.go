package garbage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/stored"
)

// Stored reads the metadata of objects where the server stores them. Unlike the API, it does not
// convert objects, and it needs neither the compiled schema nor a watch cache of a kind.
type Stored interface {
	// Has reports whether this server stores the objects of a resource and can watch them: the
	// resource is a custom resource, and no other server answers the requests for it.
	Has(resource schema.GroupVersionResource) bool
	// List returns the objects of a resource in one namespace or, with an empty namespace, in
	// all. For a resource that it cannot watch, it may fail.
	List(ctx context.Context, resource schema.GroupResource, namespace string) (List, error)
	// Watch calls change for every change of an object of an API group, in order. It calls begun
	// once: all changes from then on will be seen. The error is never nil.
	Watch(ctx context.Context, group string, begun func(), change func(Change)) error
}

// List are the objects of a resource at a revision of the store.
type List = stored.List[metav1.PartialObjectMetadata]

// Change is a change of one object.
type Change = stored.Change[metav1.PartialObjectMetadata]

// everywhere are the objects of all namespaces.
type everywhere struct{ Stored }

// List implements stored.Objects.
func (e everywhere) List(ctx context.Context, resource schema.GroupResource) (List, error) {
	return e.Stored.List(ctx, resource, "")
}

// storedMonitor passes the stored objects of a kind to its monitor.
type storedMonitor struct {
	*monitor
	// uids are the UIDs of the objects, which a deletion does not tell.
	uids map[objectName]types.UID
}

type objectName struct{ namespace, name string }

// Replace implements stored.Receiver.
func (m *storedMonitor) Replace(items []metav1.PartialObjectMetadata) {
	m.uids = make(map[objectName]types.UID, len(items))
	objects := make([]*object, 0, len(items))
	for i := range items {
		item := &items[i]
		m.uids[objectName{item.Namespace, item.Name}] = item.UID
		objects = append(objects, newObject(m.kind, item))
	}
	m.replace(objects)
}

// Change implements stored.Receiver.
func (m *storedMonitor) Change(change Change) {
	name := objectName{change.Object.Namespace, change.Object.Name}
	if !change.Deleted {
		old, ok := m.uids[name]
		m.uids[name] = change.Object.UID
		if now := newObject(m.kind, &change.Object); ok && old != now.uid {
			m.graph.replaced(old, now)
		} else {
			m.graph.observe(now)
		}
		return
	}
	if uid, ok := m.uids[name]; ok {
		delete(m.uids, name)
		m.graph.deleted(uid)
	}
}

// Fail implements stored.Receiver.
func (m *storedMonitor) Fail(ctx context.Context, err error) { m.setFailed(ctx, err) }
