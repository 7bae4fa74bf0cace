package storage

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// Revision returns the revision of the store.
func (r Readable) Revision(ctx context.Context) (int64, error) {
	page, err := r.Client.Page(ctx, etcd.Range{Prefix: KeyPrefix + "/", Limit: 1})
	return page.Revision, err
}

// Get reads an object of a resource. It returns nil if there is none.
func (r Readable) Get(ctx context.Context, resource schema.GroupResource, namespace, name string) (*Stored, error) {
	return r.Reread(ctx, resource, Stored{Namespace: namespace, Name: name, key: Part{Resource: resource, Namespace: namespace}.Prefix() + name})
}

// Reread reads an object of a resource again. It returns nil if the object was deleted.
func (r Readable) Reread(ctx context.Context, resource schema.GroupResource, stored Stored) (*Stored, error) {
	found, err := r.Client.Firsts(ctx, []string{stored.key})
	if err != nil {
		return nil, err
	}
	// The first key with this prefix may be a longer one.
	if found[0] == nil || found[0].Key != stored.key {
		return nil, nil
	}
	stored.Revision = found[0].Revision
	stored.Text, stored.Stale, err = r.decrypt(ctx, resource, *found[0])
	return &stored, err
}

// Rewrite stores another text of an object, encrypted with the current key, if the object was not written since it was read and the fence
// of the context holds (etcd.WithFence). It reports whether it stored the text. Nothing judges the text: it is the same object in the form
// in which the server stores it now.
func (r Readable) Rewrite(ctx context.Context, resource schema.GroupResource, stored Stored, text []byte) (bool, error) {
	encrypted, err := r.transformer(resource).TransformToStorage(ctx, text, value.DefaultContext(stored.key))
	if err != nil {
		return false, fmt.Errorf("encrypt: %w", err)
	}
	return r.Client.Replace(ctx, etcd.Pair{Key: stored.key, Revision: stored.Revision}, encrypted)
}
