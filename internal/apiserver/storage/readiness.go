package storage

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/native"
)

// Readiness keeps the server unready until the watch caches of the built-in kinds have read
// every stored object. One object that cannot be read keeps the cache of its kind empty.
// This covers the start only: the server stays ready if a cache is filled again later.
type Readiness struct {
	readable Readable
	stores   map[schema.GroupResource]*genericregistry.Store
	read     atomic.Bool
}

// NewReadiness returns the check of the given stores. The map must not change
// afterwards.
func NewReadiness(readable Readable, stores map[schema.GroupResource]*genericregistry.Store) *Readiness {
	return &Readiness{readable: readable, stores: stores}
}

// Check is a health check.
func (r *Readiness) Check(*http.Request) error {
	if r.read.Load() {
		return nil
	}
	if unread := r.unread(); len(unread) > 0 {
		return fmt.Errorf("not read yet: %v", unread)
	}
	r.read.Store(true)
	return nil
}

// unread lists the kinds with caches that are not filled.
func (r *Readiness) unread() []schema.GroupResource {
	var unread []schema.GroupResource
	for _, kind := range native.Kinds() {
		if store := r.stores[kind.GroupResource()]; store != nil && store.ReadinessCheck() != nil {
			unread = append(unread, kind.GroupResource())
		}
	}
	return unread
}

// Diagnose reads all objects of the kinds with caches that are not filled, and returns the
// error of the first object that cannot be read. It returns nil if all of them can be read,
// and the caches only need more time.
func (r *Readiness) Diagnose(ctx context.Context) error {
	for _, resource := range r.unread() {
		if err := r.readable.all(ctx, resource); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
