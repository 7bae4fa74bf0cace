package migration

import (
	"bytes"
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// target is how the objects of a resource are to be stored.
type target struct {
	resource schema.GroupResource
	// store is set for a built-in kind, and rewriter for a custom resource.
	store    *genericregistry.Store
	rewriter *custom.Rewriter
}

func (t target) release() {
	if t.rewriter != nil {
		t.rewriter.Release()
	}
}

// isDone reports whether an object was written after the start of the migration, in the right form. Objects that other clients write are
// so, except those that were written before the storage version or the key changed.
func (t target) isDone(stored storage.Stored, since int64) bool {
	if stored.Stale || stored.Revision <= since {
		return false
	}
	if t.rewriter == nil {
		return true
	}
	gvk, err := json.DefaultMetaFactory.Interpret(stored.Text)
	return err == nil && gvk.GroupVersion() == t.rewriter.StorageVersion()
}

// encode returns the text of an object as it is to be stored.
func (t target) encode(text []byte) ([]byte, error) {
	if t.rewriter != nil {
		return t.rewriter.Encode(text)
	}
	codec := t.store.Storage.Codec
	obj, _, err := codec.Decode(text, nil, t.store.NewFunc())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = codec.Encode(obj, &out)
	return out.Bytes(), err
}

// begin returns the context of a write.
func (t target) begin(ctx context.Context) (context.Context, error) {
	if t.rewriter == nil {
		return ctx, nil
	}
	return t.rewriter.Begin(ctx)
}

// awaitChange reports whether an error of a write says that the definition has changed, see custom.Rewriter.
func (t target) awaitChange(ctx context.Context, err error) (changed, replaced bool) {
	if t.rewriter == nil {
		return false, false
	}
	return t.rewriter.AwaitChange(ctx, err)
}
