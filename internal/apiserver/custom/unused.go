package custom

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/custom/served"
	"holdfast.dev/holdfast/internal/definition"
)

// closeUnused closes the resources for which the last request ended before a time.
func (s *Server) closeUnused(since time.Time) {
	// A definition that changes at the same time replaces its resource, too.
	s.controller.serving.Lock()
	defer s.controller.serving.Unlock()
	unused := func(r *served.Resource) bool { return r.WasUsedBefore(since) }
	s.mu.RLock()
	var found []*served.Resource
	for _, r := range s.resources {
		if unused(r) {
			found = append(found, r)
		}
	}
	s.mu.RUnlock()
	for _, r := range found {
		s.renew(r.GroupResource(), r.CRD, unused)
	}
}

// renew replaces a resource by one that is not open, if no request uses it and the function
// agrees. It reports whether it did so.
func (s *Server) renew(name schema.GroupResource, crd *definition.CustomResourceDefinition, agrees func(*served.Resource) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.resources[name]
	if old == nil || old.IsInUse() || !agrees(old) {
		return false
	}
	next := served.New(&s.resource, crd)
	if crd == old.CRD {
		next.Replace(old)
	}
	s.resources[name] = next
	old.Retire()
	return true
}
