package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"holdfast.dev/holdfast/apiserver/etcd"
	"holdfast.dev/holdfast/native"
)

const (
	// readTimeout bounds a look at stored objects when the server starts.
	readTimeout = time.Minute
	// readPage is how many objects are fetched at a time in a look at all.
	readPage = 100
	// diagnoseAfter is how long a start takes at most when nothing is wrong; then
	// it is looked for.
	diagnoseAfter = 5 * time.Second
)

// Encrypted objects begin like this, and those of an encryption service, which
// may be there later, like this.
var (
	encryptedPrefix = []byte("k8s:enc:")
	remotePrefix    = []byte("k8s:enc:kms:")
)

// readable says whether what is stored can be read with the encryption that is
// configured. A server that cannot read its Secrets must not call itself ready.
type readable struct {
	client       *etcd.Client
	transformers value.ResourceTransformers
}

// first looks at the first object of every built-in kind: that costs next to
// nothing, and finds what was encrypted when nothing is configured.
func (r readable) first(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, kind := range native.Kinds() {
		pairs, err := r.client.Page(ctx, prefixOf(kind.GroupResource()), "", 1)
		if err != nil {
			return err
		}
		for _, pair := range pairs {
			if err := r.check(ctx, kind.GroupResource(), pair); err != nil {
				return err
			}
		}
	}
	return nil
}

// all looks at every object of a kind.
func (r readable) all(ctx context.Context, resource schema.GroupResource) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	after := ""
	for {
		pairs, err := r.client.Page(ctx, prefixOf(resource), after, readPage)
		if err != nil {
			return err
		}
		for _, pair := range pairs {
			if err := r.check(ctx, resource, pair); err != nil {
				return err
			}
			after = pair.Key
		}
		if len(pairs) < readPage {
			return nil
		}
	}
}

func prefixOf(resource schema.GroupResource) string { return keyPrefix + "/" + resource.Resource + "/" }

// check undoes the encryption of one object, as the registry does.
func (r readable) check(ctx context.Context, resource schema.GroupResource, pair etcd.Pair) error {
	transformer := identity.NewEncryptCheckTransformer()
	if r.transformers != nil {
		if bytes.HasPrefix(pair.Value, remotePrefix) {
			return nil
		}
		transformer = r.transformers.TransformerForResource(resource)
	}
	_, _, err := transformer.TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key))
	if err == nil {
		return nil
	}
	object := strings.TrimPrefix(pair.Key, keyPrefix+"/")
	if bytes.HasPrefix(pair.Value, encryptedPrefix) {
		return fmt.Errorf("encryption: %s is encrypted with a key that is not configured: start with the --encryption-provider-config that it was written with", object)
	}
	return fmt.Errorf("encryption: %s cannot be read with the --encryption-provider-config: %w", object, err)
}

// checkStored ends the start when objects cannot be read.
func (s *Server) checkStored(ctx context.Context) error {
	return readable{client: s.storage, transformers: s.transformers}.first(ctx)
}

// addStorageCheck makes readiness wait until everything that is stored of the
// built-in kinds has been read: one object that cannot be hides all others.
// It is about the start: a cache that is filled again later serves meanwhile.
func (s *Server) addStorageCheck(stores map[schema.GroupResource]*genericregistry.Store) error {
	s.stores = stores
	var read atomic.Bool
	return s.generic.AddReadyzChecks(healthz.NamedCheck("storage-readiness", func(*http.Request) error {
		if read.Load() {
			return nil
		}
		if unread := s.unread(); len(unread) > 0 {
			return fmt.Errorf("not read yet: %v", unread)
		}
		read.Store(true)
		return nil
	}))
}

// unread are the kinds whose objects have not been read.
func (s *Server) unread() []schema.GroupResource {
	var unread []schema.GroupResource
	for _, kind := range native.Kinds() {
		if store := s.stores[kind.GroupResource()]; store != nil && store.ReadinessCheck() != nil {
			unread = append(unread, kind.GroupResource())
		}
	}
	return unread
}

// diagnose tells why a start that takes long will not end: an object that
// cannot be read. It returns nil if nothing is wrong but the time.
func (s *Server) diagnose(ctx context.Context) error {
	stored := readable{client: s.storage, transformers: s.transformers}
	for _, resource := range s.unread() {
		if err := stored.all(ctx, resource); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
