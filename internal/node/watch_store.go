package node

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

// objectStore holds the objects that a reflector listed and watched.
type objectStore struct {
	// notify is called after each change of an object.
	notify func(Ref)

	mu      sync.Mutex
	objects map[Ref]*Object
	// synced is true after the first list.
	synced bool
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
	return s.synced
}

// clear removes all objects. The kind is no longer watched, so they may be outdated.
func (s *objectStore) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = nil
}

// Add implements cache.ReflectorStore.
func (s *objectStore) Add(obj any) error {
	object := objectOf(obj)
	if object == nil {
		return fmt.Errorf("%T is neither a ConfigMap nor a Secret", obj)
	}
	object.received = time.Now()
	s.mu.Lock()
	if s.objects == nil {
		s.objects = map[Ref]*Object{}
	}
	s.objects[object.Ref] = object
	s.mu.Unlock()
	s.notify(object.Ref)
	return nil
}

// Update implements cache.ReflectorStore.
func (s *objectStore) Update(obj any) error { return s.Add(obj) }

// Delete implements cache.ReflectorStore.
func (s *objectStore) Delete(obj any) error {
	object := objectOf(obj)
	if object == nil {
		return fmt.Errorf("%T is neither a ConfigMap nor a Secret", obj)
	}
	s.mu.Lock()
	delete(s.objects, object.Ref)
	s.mu.Unlock()
	s.notify(object.Ref)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *objectStore) Replace(list []any, _ string) error {
	objects := make(map[Ref]*Object, len(list))
	var changed []Ref
	for _, obj := range list {
		object := objectOf(obj)
		if object == nil {
			return fmt.Errorf("%T is neither a ConfigMap nor a Secret", obj)
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
	s.objects, s.synced = objects, true
	s.mu.Unlock()
	for _, ref := range changed {
		s.notify(ref)
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *objectStore) Resync() error { return nil }
