package storage

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/native"
)

// Readiness holds back the readiness of the server until the watch caches of the
// built-in kinds have read every stored object: one object that cannot be read
// keeps its kind's cache empty. It covers the start only; a cache that fills again
// later serves meanwhile.
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

// unread lists the kinds whose caches are not filled.
func (r *Readiness) unread() []schema.GroupResource {
	var unread []schema.GroupResource
	for _, kind := range native.Kinds() {
		if store := r.stores[kind.GroupResource()]; store != nil && store.ReadinessCheck() != nil {
			unread = append(unread, kind.GroupResource())
		}
	}
	return unread
}

// Diagnose returns the error of the first object that cannot be read among the
// kinds whose caches are not filled. It returns nil if all of them can be read, and
// the caches only need more time.
func (r *Readiness) Diagnose(ctx context.Context) error {
	for _, resource := range r.unread() {
		if err := r.readable.all(ctx, resource); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
