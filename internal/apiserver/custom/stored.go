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

// Find returns the object that a request names, in the API version of the request, and its key in the store. ok is false if the server does
// not serve the resource in this version.
func (s *Server) Find(ctx context.Context, info *genericapirequest.RequestInfo) (found runtime.Object, key string, ok bool, err error) {
	r, err := s.find(ctx, schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
	if err != nil || r == nil {
		return nil, "", false, err
	}
	defer r.Release()
	v := r.Version(info)
	if v == nil {
		return nil, "", false, nil
	}
	found, key, err = v.Find(ctx, info.Name)
	return found, key, err == nil, err
}
