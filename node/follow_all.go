package node

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/projection"
)

// usedByNode is the field by which a node selects, in one watch over all
// namespaces, the mutable objects that its pods use.
const usedByNode = "holdfast.dev/used-by-node"

// followAll follows all objects of the node by one watch for each kind. The
// server sends what pods of the node use and is mutable; that an object is not
// sent, or no longer, does not say why.
type followAll struct {
	reflectors []*cache.Reflector
	stores     map[projection.Kind]*objectStore
}

func newFollowAll(client kubernetes.Interface, node string, watches *watching, changed func(Ref)) *followAll {
	f := &followAll{stores: map[projection.Kind]*objectStore{}}
	for _, kind := range []projection.Kind{projection.ConfigMap, projection.Secret} {
		store := &objectStore{changed: changed}
		lw, example := watches.objects(client, kind, scope{selector: usedByNode + "=" + node})
		f.stores[kind] = store
		f.reflectors = append(f.reflectors, cache.NewReflectorWithOptions(lw, example, store, cache.ReflectorOptions{
			Name: fmt.Sprintf("%ss used by node %s", kind, node),
		}))
	}
	return f
}

func (f *followAll) run(ctx context.Context) {
	var running sync.WaitGroup
	for _, reflector := range f.reflectors {
		running.Go(func() { reflector.RunWithContext(ctx) })
	}
	running.Wait()
}

func (f *followAll) synced() bool {
	for _, store := range f.stores {
		if !store.isSynced() {
			return false
		}
	}
	return true
}

func (f *followAll) current(ref Ref) (*Object, bool) {
	object := f.stores[ref.Kind].get(ref)
	// One that has just turned immutable is not followed any more.
	return object, object != nil && !object.Immutable
}

func (f *followAll) follow(Ref, cache.ObjectName) {}

func (f *followAll) unfollow(Ref, cache.ObjectName) {}

func (f *followAll) sees() bool { return false }

// objectStore has what a reflector saw.
type objectStore struct {
	changed func(Ref)

	mu      sync.Mutex
	objects map[Ref]*Object
	filled  bool
}

var _ cache.ReflectorStore = &objectStore{}

func (s *objectStore) get(ref Ref) *Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[ref]
}

func (s *objectStore) isSynced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled
}

// Add implements cache.ReflectorStore.
func (s *objectStore) Add(obj any) error {
	object := objectOf(obj)
	if object == nil {
		return fmt.Errorf("%T is no object to follow", obj)
	}
	s.mu.Lock()
	if s.objects == nil {
		s.objects = map[Ref]*Object{}
	}
	s.objects[object.Ref] = object
	s.mu.Unlock()
	s.changed(object.Ref)
	return nil
}

// Update implements cache.ReflectorStore.
func (s *objectStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *objectStore) Delete(obj any) error {
	object := objectOf(obj)
	if object == nil {
		return fmt.Errorf("%T is no object to follow", obj)
	}
	s.mu.Lock()
	delete(s.objects, object.Ref)
	s.mu.Unlock()
	s.changed(object.Ref)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *objectStore) Replace(list []any, _ string) error {
	objects := make(map[Ref]*Object, len(list))
	var changed []Ref
	for _, obj := range list {
		object := objectOf(obj)
		if object == nil {
			return fmt.Errorf("%T is no object to follow", obj)
		}
		objects[object.Ref] = object
	}
	s.mu.Lock()
	for ref, object := range objects {
		if before := s.objects[ref]; before == nil || before.UID != object.UID || before.ResourceVersion != object.ResourceVersion {
			changed = append(changed, ref)
		}
	}
	for ref := range s.objects {
		if objects[ref] == nil {
			changed = append(changed, ref)
		}
	}
	s.objects, s.filled = objects, true
	s.mu.Unlock()
	for _, ref := range changed {
		s.changed(ref)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *objectStore) Resync() error { return nil }
