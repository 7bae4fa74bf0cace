package custom

import "holdfast.dev/holdfast/definition"

// replace serves a definition from now on.
func (s *Server) replace(crd *definition.CustomResourceDefinition) {
	next := newServed(s, crd)
	resource := next.resource()
	s.mu.RLock()
	old := s.served[resource]
	s.mu.RUnlock()
	if !isServed(crd) {
		s.drop(crd)
		return
	}
	if old != nil && old.same(crd) {
		old.terminating.Store(crd.DeletionTimestamp != nil)
		return
	}
	if old != nil && old.crd.UID == crd.UID {
		next.warm(old)
	}
	s.mu.Lock()
	s.served[resource] = next
	s.mu.Unlock()
	if old != nil {
		old.retire()
	}
}

// drop serves a definition no more.
func (s *Server) drop(crd *definition.CustomResourceDefinition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for resource, old := range s.served {
		if old.crd.Name == crd.Name {
			delete(s.served, resource)
			old.retire()
		}
	}
}
