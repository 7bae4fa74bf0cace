package storage

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"holdfast.dev/holdfast/apiserver/etcd"
	"holdfast.dev/holdfast/native"
)

const (
	// readTimeout bounds one check of stored objects.
	readTimeout = time.Minute
	// readPage is how many objects a check of all objects fetches at a time.
	readPage = 100
)

// Encrypted objects begin with encryptedPrefix. Objects that a KMS provider encrypted begin
// with remotePrefix. With an encryption configuration these are not checked, because the
// KMS may become reachable only after the start.
var (
	encryptedPrefix = []byte("k8s:enc:")
	remotePrefix    = []byte("k8s:enc:kms:")
)

// Readable checks that stored objects can be read with the configured encryption. A
// server that cannot read its Secrets must not report that it is ready.
type Readable struct {
	Client *etcd.Client
	// Transformers decrypt stored objects; nil reads them as they are.
	Transformers value.ResourceTransformers
}

// First reads the first object of every built-in kind. It is cheap, and it finds
// encrypted objects when no encryption is configured.
func (r Readable) First(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	for _, kind := range native.Kinds() {
		first, err := r.Client.Page(ctx, etcd.Range{Prefix: prefixOf(kind.GroupResource()), Limit: 1})
		if err != nil {
			return err
		}
		for _, pair := range first.Pairs {
			if err := r.check(ctx, kind.GroupResource(), pair); err != nil {
				return err
			}
		}
	}
	return nil
}

// all reads every object of a kind.
func (r Readable) all(ctx context.Context, resource schema.GroupResource) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	after := ""
	for {
		page, err := r.Client.Page(ctx, etcd.Range{Prefix: prefixOf(resource), After: after, Limit: readPage})
		if err != nil {
			return err
		}
		for _, pair := range page.Pairs {
			if err := r.check(ctx, resource, pair); err != nil {
				return err
			}
			after = pair.Key
		}
		if len(page.Pairs) < readPage {
			return nil
		}
	}
}

func prefixOf(resource schema.GroupResource) string { return KeyPrefix + "/" + resource.Resource + "/" }

// check decrypts one object, as the registry does.
func (r Readable) check(ctx context.Context, resource schema.GroupResource, pair etcd.Pair) error {
	transformer := identity.NewEncryptCheckTransformer()
	if r.Transformers != nil {
		if bytes.HasPrefix(pair.Value, remotePrefix) {
			return nil
		}
		transformer = r.Transformers.TransformerForResource(resource)
	}
	_, _, err := transformer.TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key))
	if err == nil {
		return nil
	}
	object := strings.TrimPrefix(pair.Key, KeyPrefix+"/")
	if bytes.HasPrefix(pair.Value, encryptedPrefix) {
		return fmt.Errorf("encryption: %s is encrypted with a key that is not configured: "+
			"start with the --encryption-provider-config that it was written with", object)
	}
	return fmt.Errorf("encryption: %s cannot be read with the --encryption-provider-config: %w", object, err)
}
