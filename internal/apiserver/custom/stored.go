package custom

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Namespaced returns the served resources with objects in namespaces, in their storage versions.
func (s *Server) Namespaced() []schema.GroupVersionResource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []schema.GroupVersionResource
	for name, r := range s.resources {
		if r.Namespaced() {
			found = append(found, name.WithVersion(r.Storage().Name))
		}
	}
	return found
}

// List returns the objects of a resource in the storage version, in one namespace or, with an empty namespace, in all.
func (s *Server) List(ctx context.Context, resource schema.GroupResource, namespace string) ([]runtime.Object, error) {
	r := s.acquire(resource)
	if r == nil {
		return nil, nil // it was never served, so it has no objects
	}
	defer r.Release()
	store, err := r.Store()
	if err != nil {
		return nil, err
	}
	list, err := store.List(genericapirequest.WithNamespace(ctx, namespace), &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	return meta.ExtractList(list)
}
