package custom

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/served"
	"holdfast.dev/holdfast/internal/apiserver/custom/write"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/definition"
)

// closings remembers when this server has first seen that a definition closes its kind, by name. It compares no clocks of different
// servers: a kind stays closed here for definitions.ClosedFor from that moment on.
type closings struct {
	mu   sync.Mutex
	seen map[string]sighting
}

type sighting struct {
	by string
	at time.Time
}

// observe records the condition of a definition.
func (c *closings) observe(crd *definition.CustomResourceDefinition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := definitions.ClosedBy(crd)
	if by == "" {
		delete(c.seen, crd.Name)
		return
	}
	if c.seen[crd.Name].by == by {
		return
	}
	if c.seen == nil {
		c.seen = map[string]sighting{}
	}
	c.seen[crd.Name] = sighting{by: by, at: time.Now()}
}

// forget removes a definition that was deleted.
func (c *closings) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, name)
}

// remaining returns how long the condition of a definition is in force, zero if it is not. A condition that this server has not observed
// yet is new.
func (c *closings) remaining(crd *definition.CustomResourceDefinition) time.Duration {
	by := definitions.ClosedBy(crd)
	if by == "" {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen := c.seen[crd.Name]; seen.by == by {
		return max(0, definitions.ClosedFor-time.Since(seen.at))
	}
	return definitions.ClosedFor
}

// IsClosed implements definitions.Content.
func (s *Server) IsClosed(crd *definition.CustomResourceDefinition) bool {
	return s.controller.closings.remaining(crd) > 0
}

// closedWait is how long a write waits while its kind is closed for writes. A server closes a kind for the last part of a decision
// only, so nearly all writes wait for milliseconds.
const closedWait = 10 * time.Second

// beginWrite implements write.Definition for a resource.
func (s *Server) beginWrite(ctx context.Context, r *served.Resource) (_ context.Context, closed, err error) {
	observed, err := s.awaitOpen(ctx, r.CRD.Name)
	if err != nil {
		return nil, nil, err
	}
	// A closing of the kind that the server has not observed so far must stop the write. The status of a definition changes for other
	// reasons too, and then the decision about the write holds.
	ctx = definitions.Fence(ctx, r.CRD.Name, r.Revision(observed), func(ctx context.Context, failed *etcd.FenceError) (int64, bool) {
		return s.renewFence(ctx, r, failed)
	})
	switch {
	case observed == nil:
		return ctx, definitions.Unavailable(r.CRD.Name, "this server does not serve it yet"), nil
	case observed.DeletionTimestamp != nil:
		return ctx, write.Terminating(kind.ResourceOf(observed)), nil
	case s.IsClosed(observed):
		return ctx, definitions.Unavailable(r.CRD.Name, "a request is about to delete it"), nil
	}
	return ctx, nil, nil
}

// awaitOpen waits until a kind is not closed for writes. It returns the definition that this server has observed, nil if there is none.
func (s *Server) awaitOpen(ctx context.Context, name string) (*definition.CustomResourceDefinition, error) {
	c := s.controller
	var expired <-chan time.Time
	for {
		c.mu.Lock()
		observed, changed := c.observed[name], c.changed.Next()
		c.mu.Unlock()
		if observed == nil || !definitions.IsClosedForWrites(observed) {
			return observed, nil
		}
		remaining := c.closings.remaining(observed)
		if remaining == 0 {
			return observed, nil
		}
		if expired == nil {
			expired = time.After(min(closedWait, remaining))
		}
		select {
		case <-changed:
		case <-expired:
			return nil, definitions.Unavailable(name, "a request is about to change it")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// renewFence returns the revision of a changed definition by which writes of a resource are judged in the same way.
func (s *Server) renewFence(ctx context.Context, r *served.Resource, failed *etcd.FenceError) (int64, bool) {
	if changed, replaced := s.awaitChange(ctx, r, failed); !changed || replaced {
		return 0, false
	}
	s.controller.mu.Lock()
	observed := s.controller.observed[r.CRD.Name]
	s.controller.mu.Unlock()
	if observed == nil || observed.DeletionTimestamp != nil || definitions.ClosedBy(observed) != "" {
		return 0, false
	}
	return r.Revision(observed), true
}

// awaitChange implements write.Definition for a resource.
func (s *Server) awaitChange(ctx context.Context, r *served.Resource, err error) (changed, replaced bool) {
	var fence *etcd.FenceError
	if !errors.As(err, &fence) {
		return false, false
	}
	// With a time of deletion, settle does not wait for a definition that is gone.
	written := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: r.CRD.Name, ResourceVersion: strconv.FormatInt(fence.Current, 10), DeletionTimestamp: new(metav1.Now()),
	}}
	s.controller.settle(ctx, written)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return true, s.resources[r.GroupResource()] != r
}
