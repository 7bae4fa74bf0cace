package custom

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/write"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
)

// closings remembers when this server has first seen the condition Closed of definitions, by name. It compares no clocks of different
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

// fenced returns a context in which the stores write objects only if the stored definition is the given one.
func fenced(ctx context.Context, crd *definition.CustomResourceDefinition) (context.Context, error) {
	revision, err := strconv.ParseInt(crd.ResourceVersion, 10, 64)
	return etcd.WithFence(ctx, etcd.Fence{Key: storage.KeyOf(definitions.Resource, crd.Name), Revision: revision}), err
}

// creation returns a context in which the store creates an object of a definition only if the stored definition is the one that this
// server has observed. Otherwise another server could have closed the kind. The error says why the kind is closed: the context is for
// a write that may turn out to be an update.
func (s *Server) creation(ctx context.Context, name string) (context.Context, error) {
	s.controller.mu.Lock()
	observed := s.controller.observed[name]
	s.controller.mu.Unlock()
	if observed == nil {
		return ctx, definitions.Unavailable(name, "this server does not serve it yet")
	}
	ctx, err := fenced(ctx, observed)
	if err != nil {
		return ctx, err
	}
	if observed.DeletionTimestamp != nil {
		return ctx, write.Terminating(kind.ResourceOf(observed))
	}
	if s.IsClosed(observed) {
		return ctx, definitions.Unavailable(name, "a request is about to delete it")
	}
	return ctx, nil
}

// awaitChange waits until this server has observed the definition that made a fence fail. It reports whether the error is that of a
// fence.
func (s *Server) awaitChange(ctx context.Context, name string, err error) bool {
	var fence *etcd.FenceError
	if !errors.As(err, &fence) {
		return false
	}
	// With a time of deletion, settle does not wait for a definition that is gone.
	changed := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: name, ResourceVersion: strconv.FormatInt(fence.Current, 10), DeletionTimestamp: new(metav1.Now()),
	}}
	s.controller.settle(ctx, changed)
	return true
}
