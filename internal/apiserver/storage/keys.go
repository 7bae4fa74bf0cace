package storage

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/native"
)

// KeyUse says how many stored objects are encrypted with a key.
type KeyUse struct {
	// Key is the provider and the name of the key, such as secretbox/first.
	Key string
	// Objects is the number of objects.
	Objects int
	// Unreadable is the error of the first object that cannot be decrypted, nil if all can be.
	Unreadable error
}

// Keys returns the keys that stored objects are encrypted with, sorted. It reads all objects, and decrypts
// those for which the configuration has the key. An object of a KMS provider is not decrypted, because the
// KMS may be away: its provider must be in the configuration.
func (r Readable) Keys(ctx context.Context) ([]KeyUse, error) {
	used := map[string]KeyUse{}
	builtIn := map[string]schema.GroupResource{}
	for _, kind := range native.Kinds() {
		builtIn[kind.Resource] = kind.GroupResource()
	}
	part := etcd.Range{Prefix: KeyPrefix + "/", Limit: readPage}
	for {
		page, err := r.Client.Page(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, pair := range page.Pairs {
			part.After = pair.Key
			key := keyOf(pair.Value)
			if key == "" {
				continue
			}
			use := used[key]
			use.Key = key
			use.Objects++
			if use.Unreadable == nil {
				use.Unreadable = r.check(ctx, resourceOf(pair.Key, builtIn), pair)
			}
			used[key] = use
		}
		if len(page.Pairs) < readPage {
			return slices.SortedFunc(maps.Values(used), func(a, b KeyUse) int { return strings.Compare(a.Key, b.Key) }), nil
		}
	}
}

// keyOf returns the provider and the name of the key that a stored object is encrypted with, or "". The
// object begins with k8s:enc:PROVIDER:VERSION:NAME: and the name is that of the key, or of the KMS provider.
func keyOf(stored []byte) string {
	rest, encrypted := bytes.CutPrefix(stored, encryptedPrefix)
	if !encrypted {
		return ""
	}
	parts := bytes.SplitN(rest, []byte(":"), 4)
	if len(parts) < 4 {
		return "unknown"
	}
	return string(parts[0]) + "/" + string(parts[2])
}

// resourceOf returns the resource of a stored object, by its key. A custom resource has its API group in its
// key, which contains a dot; a built-in kind has its name there. A record of the server is encrypted like the resource in its key.
func resourceOf(key string, builtIn map[string]schema.GroupResource) schema.GroupResource {
	if rest, ok := strings.CutPrefix(key, HistoryPrefix); ok {
		resource, _, _ := strings.Cut(rest, "/")
		return schema.ParseGroupResource(resource)
	}
	if key == HistoryKey {
		return schema.GroupResource{Resource: "secrets"}
	}
	parts := strings.SplitN(strings.TrimPrefix(key, KeyPrefix+"/"), "/", 3)
	if strings.Contains(parts[0], ".") && len(parts) > 1 {
		return schema.GroupResource{Group: parts[0], Resource: parts[1]}
	}
	return builtIn[parts[0]]
}
