package storage

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/native"
)

const (
	// readTimeout bounds one check of stored objects.
	readTimeout = time.Minute
	// readPage is how many objects a check of all objects fetches at a time.
	readPage = 100
)

// Encrypted objects begin with encryptedPrefix. Objects that a KMS provider encrypted begin
// with remotePrefix. If the configuration has the provider, these are not checked, because the
// KMS may become reachable only after the start.
var (
	encryptedPrefix = []byte("k8s:enc:")
	remotePrefix    = []byte("k8s:enc:kms:")
)

// definitions is the resource of CustomResourceDefinitions.
var definitions = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// Readable checks that stored objects can be read with the configured encryption. A
// server that cannot read its Secrets must not report that it is ready.
type Readable struct {
	Client *etcd.Client
	// Transformers decrypt stored objects; nil reads them as they are.
	Transformers value.ResourceTransformers
	// Configured are the keys of the encryption configuration, such as secretbox/first. The name
	// of a KMS provider stands for its key.
	Configured []string
}

// First reads the first object of every built-in kind, of the definitions and of every custom
// resource. It is cheap, and it finds encrypted objects when no encryption is configured.
func (r Readable) First(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var resources []schema.GroupResource
	var prefixes []string
	for _, kind := range native.Kinds() {
		resources, prefixes = append(resources, kind.GroupResource()), append(prefixes, prefixOf(kind.GroupResource()))
	}
	names, err := r.Client.Keys(ctx, KeyPrefix+"/"+customPrefix(definitions)+"/")
	if err != nil {
		return err
	}
	if len(names) > 0 {
		resources, prefixes = append(resources, definitions), append(prefixes, KeyPrefix+"/"+customPrefix(definitions)+"/")
	}
	for _, name := range names {
		// The name of a definition is the one of its resource and its group.
		resource := schema.ParseGroupResource(path.Base(name))
		resources, prefixes = append(resources, resource), append(prefixes, KeyPrefix+"/"+customPrefix(resource)+"/")
	}
	firsts, err := r.Client.Firsts(ctx, prefixes)
	if err != nil {
		return err
	}
	for i, first := range firsts {
		if first == nil {
			continue
		}
		if err := r.check(ctx, resources[i], *first); err != nil {
			return err
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
	key := keyOf(pair.Value)
	transformer := identity.NewEncryptCheckTransformer()
	if r.Transformers != nil {
		if bytes.HasPrefix(pair.Value, remotePrefix) && slices.Contains(r.Configured, key) {
			return nil
		}
		transformer = r.Transformers.TransformerForResource(resource)
	}
	text, _, err := transformer.TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key))
	// The provider aescbc does not notice every wrong key: it may return something else than an object.
	if err == nil && (key == "" || bytes.HasPrefix(text, []byte("k8s\x00")) || bytes.HasPrefix(text, []byte("{"))) {
		return nil
	}
	object := strings.TrimPrefix(pair.Key, KeyPrefix+"/")
	const advice = "start with the --encryption-provider-config that it was written with"
	switch {
	case key == "":
		return fmt.Errorf("encryption: %s cannot be read with the --encryption-provider-config: %w", object, err)
	case slices.Contains(r.Configured, key):
		return fmt.Errorf("encryption: %s is encrypted with the key %s, and the configured key of this name does not decrypt it, or is "+
			"configured for other resources: %s", object, key, advice)
	}
	return fmt.Errorf("encryption: %s is encrypted with the key %s, which is not configured: %s", object, key, advice)
}
