package custom

import "holdfast.dev/holdfast/definition"

// replace serves a definition. If the server serves an earlier state of the definition with
// another spec or other accepted names, a new resource replaces the old one. A definition
// that is not established is dropped.
func (s *Server) replace(crd *definition.CustomResourceDefinition) {
	if !isEstablished(crd) {
		s.drop(crd)
		return
	}
	name := definitionResource(crd)
	s.mu.RLock()
	old := s.resources[name]
	s.mu.RUnlock()
	if old != nil && old.same(crd) {
		// A resource without requests so far is not open, so the server replaces it at no cost. The
		// memory of the old state of the definition is then free.
		if !s.renew(name, crd, func(r *resource) bool { return r == old && !r.wasUsed() }) {
			old.terminating.Store(crd.DeletionTimestamp != nil)
		}
		return
	}
	next := newResource(s, crd)
	if old != nil && old.crd.UID == crd.UID {
		next.warm(old)
	}
	s.mu.Lock()
	s.resources[name] = next
	s.mu.Unlock()
	if old != nil {
		old.retire()
	}
}

// drop stops serving a definition.
func (s *Server) drop(crd *definition.CustomResourceDefinition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, old := range s.resources {
		if old.crd.Name == crd.Name {
			delete(s.resources, name)
			old.retire()
		}
	}
}
