package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"holdfast.dev/holdfast/native"
)

// Metadata reads the metadata of the stored objects of a resource from etcd, in one namespace
// or, with an empty namespace, in all. It needs no conversion of custom resources, so it works
// while the API cannot list them. A conversion does not change names, UIDs, owner references
// or finalizers. Built-in kinds are stored as protobuf, which Metadata cannot decode. For them it
// returns no objects if none is stored, and otherwise an error.
func (r Readable) Metadata(ctx context.Context, resource schema.GroupResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	prefix := KeyPrefix + "/" + customPrefix(resource) + "/"
	if isBuiltIn(resource) {
		prefix = prefixOf(resource)
	}
	if namespace != "" {
		prefix += namespace + "/"
	}
	transformer := identity.NewEncryptCheckTransformer()
	if r.Transformers != nil {
		transformer = r.Transformers.TransformerForResource(resource)
	}
	var found []metav1.PartialObjectMetadata
	after := ""
	for {
		pairs, err := r.Client.Page(ctx, prefix, after, readPage)
		if err != nil {
			return nil, err
		}
		for _, pair := range pairs {
			object := strings.TrimPrefix(pair.Key, KeyPrefix+"/")
			data, _, err := transformer.TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key))
			if err != nil {
				return nil, fmt.Errorf("decrypt %s: %w", object, err)
			}
			var meta metav1.PartialObjectMetadata
			if !bytes.HasPrefix(data, []byte("{")) || json.Unmarshal(data, &meta) != nil {
				return nil, fmt.Errorf("%s is not stored as JSON", object)
			}
			found, after = append(found, meta), pair.Key
		}
		if len(pairs) < readPage {
			return found, nil
		}
	}
}

func isBuiltIn(resource schema.GroupResource) bool {
	for _, kind := range native.Kinds() {
		if kind.GroupResource() == resource {
			return true
		}
	}
	return false
}
