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

// Request is a list or a watch of what a node uses.
type Request struct {
	Node string
	// Namespace narrows it to one; empty is all.
	Namespace string
	// Version is what the answer must have reached. A watch without Initial
	// begins after it, with what is new since; 0 is now.
	Version uint64
	// Initial has a watch begin with what there is.
	Initial bool
	// Bookmarks has a watch tell now and then how far it is.
	Bookmarks bool
	// EndOfInitial has it tell so at the end of what there is.
	EndOfInitial bool
}

// List returns the objects of a kind that a node uses, by namespace and name,
// and the version to watch from. The objects are not to be changed.
func (s *Selection) List(ctx context.Context, resource string, r Request) ([]Object, uint64, error) {
	k := s.kinds[resource]
	if err := s.wait(ctx, k, r.Version); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	return s.current(k, r), s.version(k), nil
}

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

// Watch follows the objects of a kind that a node uses. A version that is too
// old, or not there yet, is told in an event, as Kubernetes does.
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
		return newFailed(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", r.Version, k.history.horizon)))
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
