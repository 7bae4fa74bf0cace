package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/aggregation"
	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/lifecycle/garbage"
)

// storedObjects implements garbage.Stored with the stored custom resources.
type storedObjects struct {
	readable storage.Readable
	custom   *custom.Server
	router   *aggregation.Router
}

// Has implements garbage.Stored.
func (s storedObjects) Has(resource schema.GroupVersionResource) bool {
	return s.custom.Has(resource.GroupResource()) && !s.router.IsRemote(resource.GroupVersion())
}

// List implements garbage.Stored.
func (s storedObjects) List(ctx context.Context, resource schema.GroupResource, namespace string) (garbage.List, error) {
	found, err := s.readable.Metadata(ctx, resource, namespace)
	return garbage.List(found), err
}

// Watch implements garbage.Stored.
func (s storedObjects) Watch(ctx context.Context, group string, begun func(), change func(garbage.Change)) error {
	return s.readable.WatchMetadata(ctx, group, begun, func(c storage.MetadataChange) { change(garbage.Change(c)) })
}
