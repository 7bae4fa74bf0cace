package custom

import (
	"time"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/served"
	"holdfast.dev/holdfast/internal/definition"
)

// replace serves a definition. If the server serves an earlier state of the definition with
// another spec or other accepted names, a new resource replaces the old one. A definition
// that is not established is dropped.
func (s *Server) replace(crd *definition.CustomResourceDefinition) {
	if !kind.IsEstablished(crd) {
		s.drop(crd)
		return
	}
	name := kind.ResourceOf(crd)
	s.mu.RLock()
	old := s.resources[name]
	s.mu.RUnlock()
	if old != nil && old.Serves(crd) {
		// A resource without requests so far is not open, so the server replaces it at no cost. The
		// memory of the old state of the definition is then free.
		if !s.renew(name, crd, func(r *served.Resource) bool { return r == old && !r.WasUsed() }) {
			old.Observe(crd)
		}
		return
	}
	next := served.New(&s.resource, crd)
	if old != nil && old.CRD.UID == crd.UID {
		next.Warm(old)
	}
	s.compileAhead(next)
	s.mu.Lock()
	s.resources[name] = next
	s.mu.Unlock()
	if old != nil {
		old.Retire()
	}
}

// compileAhead compiles a large definition that was created or changed, before the first request needs it. It opens nothing.
func (s *Server) compileAhead(r *served.Resource) {
	if !s.loaded.Load() || r.HasCompiledWrites() || !s.ahead.Takes(r.CRD, time.Now()) {
		return
	}
	// This counts as a use: the resource is closed if no request follows.
	r.Acquire()
	defer r.Release()
	_ = r.CompileAll() // each request gets the error
}

// drop stops serving a definition.
func (s *Server) drop(crd *definition.CustomResourceDefinition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, old := range s.resources {
		if old.CRD.Name == crd.Name {
			delete(s.resources, name)
			old.Retire()
		}
	}
}
