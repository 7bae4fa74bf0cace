package ownershipcheck

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// Types returns the ownership.Type of a kind, which tells how its objects are divided into
// fields. The types of built-in kinds are compiled in; others are derived from the OpenAPI
// schema that a server publishes. It is safe for concurrent use.
type Types struct {
	native *views.Types

	mu sync.Mutex
	// custom caches the types of other kinds, by server and kind.
	custom map[string]*ownership.Type
}

// NewTypes returns Types with an empty cache.
func NewTypes() *Types { return &Types{native: views.New(), custom: map[string]*ownership.Type{}} }

// Schemas gives access to the schemas that a server publishes.
type Schemas struct {
	// Server identifies the server in the cache.
	Server string
	// Get reads a path of the server.
	Get func(path string) ([]byte, error)
}

// Of returns the type of a kind.
func (t *Types) Of(gvk schema.GroupVersionKind, from Schemas) *ownership.Type {
	if known := t.native.Of(gvk.GroupKind()); known != nil {
		return known
	}
	key := from.Server + " " + gvk.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.custom[key] == nil {
		document, err := from.Get(judgement.PublishedPath(gvk))
		if err != nil {
			document = nil
		}
		t.custom[key] = judgement.Published(gvk, document)
	}
	return t.custom[key]
}

// isNative reports whether a kind is built in.
func (t *Types) isNative(gvk schema.GroupVersionKind) bool {
	return t.native.Of(gvk.GroupKind()) != nil
}
