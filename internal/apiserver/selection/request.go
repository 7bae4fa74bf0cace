package selection

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Request is a list or a watch of the objects that a node uses.
type Request struct {
	Node string
	// Namespace limits the request to one namespace. Empty means all.
	Namespace string
	// Version is the revision that the answer must have reached. A watch without Initial
	// begins with the events after it. Zero means now.
	Version uint64
	// Initial makes a watch begin with the objects that exist.
	Initial bool
	// Bookmarks asks for bookmarks.
	Bookmarks bool
	// EndOfInitial asks for a bookmark after the objects that exist.
	EndOfInitial bool
}

// List returns the objects of a kind that a node uses, sorted by namespace and name, and the
// version to watch from. The caller must not change the objects.
func (s *Selection) List(ctx context.Context, resource string, r Request) ([]Object, uint64, error) {
	k := s.kinds[resource]
	if err := s.wait(ctx, k, r.Version); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	return s.current(k, r), s.version(k), nil
}

// current returns the objects of a request. The caller holds the lock.
func (s *Selection) current(k *selected, r Request) []Object {
	var objects []Object
	for _, used := range s.index.UsedBy(r.Node, k.Resource) {
		obj, ok := k.objects[cache.NewObjectName(used.Namespace, used.Name)]
		if ok && (r.Namespace == "" || r.Namespace == used.Namespace) {
			objects = append(objects, obj)
		}
	}
	slices.SortFunc(objects, func(a, b Object) int {
		if c := strings.Compare(a.GetNamespace(), b.GetNamespace()); c != 0 {
			return c
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return objects
}

// Watch watches the objects of a kind that a node uses. If the version is too old, or is not
// reached in time, the watch sends an error event, as in Kubernetes.
func (s *Selection) Watch(ctx context.Context, resource string, r Request) watch.Interface {
	k := s.kinds[resource]
	if err := s.wait(ctx, k, r.Version); err != nil {
		return newFailed(err)
	}
	defer s.mu.Unlock()
	var first []watch.Event
	switch {
	case r.Initial:
		for _, obj := range s.current(k, r) {
			first = append(first, (&entry{event: watch.Added, object: obj}).shared())
		}
	case r.Version != 0 && r.Version < k.history.horizon:
		message := fmt.Sprintf("too old resource version: %d (%d)", r.Version, k.history.horizon)
		return newFailed(apierrors.NewResourceExpired(message))
	case r.Version != 0:
		first = k.history.since(r.Version, r.Node)
	}
	if r.EndOfInitial {
		first = append(first, k.bookmark(s.version(k), map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
	w := &watcher{s: s, k: k, node: r.Node, namespace: r.Namespace, bookmarks: r.Bookmarks}
	k.open(w, first)
	return w
}
