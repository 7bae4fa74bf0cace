package node

import (
	"fmt"
	"sync"

	"k8s.io/client-go/tools/cache"
)

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

// clear forgets what was seen: it is not followed any more.
func (s *objectStore) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = nil
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
