package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/native"
)

// Metadata is the metadata of the objects of a resource at one revision of the store. An object
// has its name, namespace, UID, resourceVersion, finalizers, owner references, the time of its
// deletion, and the annotation of package keep.
type Metadata struct {
	Items    []metav1.PartialObjectMetadata
	Revision int64
}

// Metadata reads the metadata of the stored objects of a resource from etcd, in one namespace
// or, with an empty namespace, in all. It needs no conversion of custom resources, so it works
// while the API cannot list them. A conversion does not change names, UIDs, owner references
// or finalizers. Built-in kinds are stored as protobuf, which Metadata cannot decode. For them it
// returns no objects if none is stored, and otherwise an error.
func (r Readable) Metadata(ctx context.Context, resource schema.GroupResource, namespace string) (Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found := Metadata{}
	var err error
	found.Revision, err = r.Visit(ctx, Part{Resource: resource, Namespace: namespace, Snapshot: true}, func(stored Stored) error {
		meta, err := stored.metadata()
		found.Items = append(found.Items, meta)
		return err
	})
	if err != nil {
		return Metadata{}, err
	}
	return found, nil
}

// MetadataChange is a change of the metadata of a stored custom resource.
type MetadataChange struct {
	Resource schema.GroupResource
	// Object has only its name and namespace if the object was deleted, or if Err is not nil.
	Object  metav1.PartialObjectMetadata
	Deleted bool
	// Revision is the revision of the store that the change made.
	Revision int64
	// Err is the reason that the stored object cannot be read.
	Err error
}

// WatchMetadata is Watch with the metadata of the objects.
func (r Readable) WatchMetadata(ctx context.Context, group string, begun func(), change func(MetadataChange)) error {
	return r.Watch(ctx, group, begun, func(changed Change) {
		c := MetadataChange{Resource: changed.Resource, Deleted: changed.Deleted, Revision: changed.Revision, Err: changed.Err}
		if !c.Deleted && c.Err == nil {
			c.Object, c.Err = changed.metadata()
		}
		c.Object.Name, c.Object.Namespace = changed.Name, changed.Namespace
		change(c)
	})
}

// storedMetadata are the fields of a stored object that metadata decodes. The managed fields are
// half of most objects and are skipped.
type storedMetadata struct {
	Metadata struct {
		Annotations       keepAnnotation          `json:"annotations"`
		Name              string                  `json:"name"`
		Namespace         string                  `json:"namespace"`
		UID               types.UID               `json:"uid"`
		DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
		Finalizers        []string                `json:"finalizers"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
}

// keepAnnotation is the annotation that keeps an object from being deleted. The others may be large, and the callers do not need them.
type keepAnnotation struct {
	Value *string `json:"holdfast.dev/keep"`
}

func (a keepAnnotation) annotations() map[string]string {
	if a.Value == nil {
		return nil
	}
	return map[string]string{keep.Annotation: *a.Value}
}

// decrypt returns the encoded object of a pair. stale says that the server encrypts the objects of this resource in another way now.
func (r Readable) decrypt(ctx context.Context, resource schema.GroupResource, pair etcd.Pair) (text []byte, stale bool, err error) {
	text, stale, err = r.transformer(resource).TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key))
	if err != nil {
		return nil, false, fmt.Errorf("decrypt %s: %w", strings.TrimPrefix(pair.Key, KeyPrefix+"/"), err)
	}
	return text, stale, nil
}

// transformer returns what encrypts and decrypts the objects of a resource.
func (r Readable) transformer(resource schema.GroupResource) value.Transformer {
	if r.Transformers == nil {
		return identity.NewEncryptCheckTransformer()
	}
	return r.Transformers.TransformerForResource(resource)
}

// metadata returns the metadata of an object.
func (s Stored) metadata() (metav1.PartialObjectMetadata, error) {
	var stored storedMetadata
	if !bytes.HasPrefix(s.Text, []byte("{")) || json.Unmarshal(s.Text, &stored) != nil {
		return metav1.PartialObjectMetadata{}, fmt.Errorf("%s is not stored as JSON", strings.TrimPrefix(s.key, KeyPrefix+"/"))
	}
	m := stored.Metadata
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: strconv.FormatInt(s.Revision, 10),
		DeletionTimestamp: m.DeletionTimestamp, Finalizers: m.Finalizers, OwnerReferences: m.OwnerReferences,
		Annotations: m.Annotations.annotations(),
	}}, nil
}

// storedUnder returns the prefix of the keys of a resource.
func storedUnder(resource schema.GroupResource) string {
	if isBuiltIn(resource) {
		return prefixOf(resource)
	}
	return KeyPrefix + "/" + customPrefix(resource) + "/"
}

func isBuiltIn(resource schema.GroupResource) bool { return builtIn()[resource] }

// builtIn has the resources of the built-in kinds.
var builtIn = sync.OnceValue(func() map[schema.GroupResource]bool {
	all := map[schema.GroupResource]bool{}
	for _, kind := range native.Kinds() {
		all[kind.GroupResource()] = true
	}
	return all
})
