package custom

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/definition"
)

const (
	// idleAfter is the time without a request after which the server closes a resource: it lets
	// go of the compiled definition and of the watch cache. The next request opens it again.
	idleAfter = 10 * time.Minute
	// idleCheck is the time between two checks for such resources.
	idleCheck = time.Minute
)

// closeIdle closes unused resources until ctx ends.
func (s *Server) closeIdle(ctx context.Context) {
	ticker := time.NewTicker(idleCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			s.closeUnused(now.Add(-idleAfter))
		}
	}
}

// closeUnused closes the resources for which the last request ended before a time.
func (s *Server) closeUnused(since time.Time) {
	// A definition that changes at the same time replaces its resource, too.
	s.controller.serving.Lock()
	defer s.controller.serving.Unlock()
	unused := func(r *resource) bool { return r.wasUsed() && r.usedAt.Load() < since.UnixNano() }
	s.mu.RLock()
	var found []*resource
	for _, r := range s.resources {
		if unused(r) {
			found = append(found, r)
		}
	}
	s.mu.RUnlock()
	for _, r := range found {
		s.renew(definitionResource(r.crd), r.crd, unused)
	}
}

// renew replaces a resource by one that is not open, if no request uses it and the function
// agrees. It reports whether it did so.
func (s *Server) renew(name schema.GroupResource, crd *definition.CustomResourceDefinition, agrees func(*resource) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.resources[name]
	if old == nil || old.inUse.Load() > 0 || !agrees(old) {
		return false
	}
	next := newResource(s, crd)
	if crd == old.crd {
		next.terminating.Store(old.terminating.Load())
	}
	s.resources[name] = next
	old.retire()
	return true
}

// wasUsed reports whether a request has ended that used the resource.
func (r *resource) wasUsed() bool { return r.usedAt.Load() != 0 }
