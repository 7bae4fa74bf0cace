package custom

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/custom/served"
)

// Rewriter encodes the stored objects of one state of a definition as the server stores them now.
type Rewriter struct {
	server   *Server
	resource *served.Resource
	codec    runtime.Codec
}

// Rewriter returns the rewriter of a resource, nil if there is no such resource. The caller releases it.
func (s *Server) Rewriter(ctx context.Context, name schema.GroupResource) (*Rewriter, error) {
	r, err := s.find(ctx, name)
	if err != nil || r == nil {
		return nil, err
	}
	codec, err := r.StorageCodec()
	if err != nil {
		r.Release()
		return nil, err
	}
	return &Rewriter{server: s, resource: r, codec: codec}, nil
}

// Release ends the use of the rewriter.
func (r *Rewriter) Release() { r.resource.Release() }

// Definition returns the name of the definition.
func (r *Rewriter) Definition() string { return r.resource.CRD.Name }

// StorageVersion returns the version in which objects are stored.
func (r *Rewriter) StorageVersion() schema.GroupVersion { return r.resource.Storage().GroupVersion() }

// Encode returns the text of a stored object in the storage version. It calls the conversion webhook of the definition if the object
// is stored in another version.
func (r *Rewriter) Encode(text []byte) ([]byte, error) {
	obj, _, err := r.codec.Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := r.codec.Encode(obj, &out); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out.Bytes(), nil
}

// Begin returns a context in which objects are written only if the definition is still in the state of the rewriter. It waits while the
// kind is closed for writes.
func (r *Rewriter) Begin(ctx context.Context) (context.Context, error) {
	fenced, _, err := r.server.beginWrite(ctx, r.resource)
	return fenced, err
}

// AwaitChange reports whether an error of a write says that the definition has changed since Begin. It returns when this server has seen
// the change. replaced means that another rewriter is needed.
func (r *Rewriter) AwaitChange(ctx context.Context, err error) (changed, replaced bool) {
	return r.server.awaitChange(ctx, r.resource, err)
}
