package guard

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/ownership"
)

const (
	// kindLifetime is the time after which the schema of a kind is read again. An API server publishes a changed
	// definition some seconds after the change.
	kindLifetime = time.Minute
	// maxKinds bounds the number of kinds that are remembered.
	maxKinds = 1024
)

// kinds knows how the objects of a kind are divided into fields: built-in kinds from this program, others
// from the schema that the API server publishes.
type kinds struct {
	server *connection.Connection
	native *views.Types
	// versions are the versions of the built-in types.
	versions map[schema.GroupKind]string

	mu    sync.Mutex
	known map[schema.GroupVersionKind]publishedKind
}

// publishedKind is a kind whose schema was read.
type publishedKind struct {
	kind *ownership.Type
	read time.Time
}

func newKinds(server *connection.Connection) *kinds {
	k := &kinds{
		server: server, native: views.New(), versions: map[schema.GroupKind]string{}, known: map[schema.GroupVersionKind]publishedKind{},
	}
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		k.versions[gvk.GroupKind()] = gvk.Version
	}
	return k
}

// of returns the type of a kind. If its schema cannot be read, the last one is used, or else every list is one
// field.
func (k *kinds) of(ctx context.Context, gvk schema.GroupVersionKind) *ownership.Type {
	if known := k.native.Of(gvk.GroupKind()); known != nil {
		return known
	}
	k.mu.Lock()
	last := k.known[gvk]
	k.mu.Unlock()
	if last.kind != nil && time.Since(last.read) < kindLifetime {
		return last.kind
	}
	request := k.server.Discovery.RESTClient().Get().AbsPath(judgement.PublishedPath(gvk)).SetHeader("Accept", "application/json")
	document, err := request.Do(ctx).Raw()
	switch {
	case err != nil && last.kind != nil:
		return last.kind
	case err != nil:
		return judgement.Published(gvk, nil)
	}
	read := publishedKind{judgement.Published(gvk, document), time.Now()}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= maxKinds {
		clear(k.known)
	}
	k.known[gvk] = read
	return read.kind
}

// stored returns the content of an object. The fields of a built-in type are those of one version, so an
// object in another version, such as autoscaling/v1, is converted.
func (k *kinds) stored(t *ownership.Type, obj *unstructured.Unstructured) (map[string]any, error) {
	gvk := obj.GroupVersionKind()
	if !t.BuiltIn || k.versions[gvk.GroupKind()] == gvk.Version {
		return obj.Object, nil
	}
	text, err := obj.MarshalJSON()
	if err != nil {
		return nil, err
	}
	content, _, err := t.Canonical(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gvk.Kind, err)
	}
	gvk.Version = k.versions[gvk.GroupKind()]
	content["apiVersion"], content["kind"] = gvk.ToAPIVersionAndKind()
	return content, nil
}

// replicas returns the path of the replicas that the scale of a resource writes. That of a custom resource is
// in its definition.
func (k *kinds) replicas(ctx context.Context, in schema.GroupVersionResource) []string {
	standard := []string{"spec", "replicas"}
	crd, err := k.server.Dynamic.Resource(definitions()).Get(ctx, in.GroupResource().String(), metav1.GetOptions{})
	if err != nil {
		return standard // a built-in or an aggregated resource
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, each := range versions {
		version, _ := each.(map[string]any)
		path, _, _ := unstructured.NestedString(version, "subresources", "scale", "specReplicasPath")
		if version["name"] == in.Version && path != "" {
			return policy.FieldsOf(path)
		}
	}
	return standard
}
