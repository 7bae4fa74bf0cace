package garbage

import (
	"context"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
)

// kind is a kind of the server, in the version that the collector reads and writes: the
// storage version if the server serves it and the collector knows it, else the preferred one.
type kind struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	// collectable says that the objects of the kind can be watched and deleted.
	collectable bool
}

func (k *kind) groupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.kind} }

// isDefinitions reports whether the kind is CustomResourceDefinition.
func (k *kind) isDefinitions() bool {
	return k.GroupResource() == schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// isEvents reports whether the kind is Event. Like Kubernetes, the collector ignores
// events: there are many, and they expire.
func isEvents(gr schema.GroupResource) bool {
	return gr.Resource == "events" && (gr.Group == "" || gr.Group == "events.k8s.io")
}

// kinds holds the kinds of the server.
type kinds struct {
	mu     sync.Mutex
	byKind map[schema.GroupKind]*kind
	// waiting are the UIDs of objects that have an owner of an unknown kind.
	waiting map[types.UID]struct{}
	// removed are the kinds that the server had and has no longer.
	removed map[schema.GroupKind]*kind
}

// lookup returns a kind. If the kind is unknown, it returns nil and remembers the object
// for set.
func (k *kinds) lookup(gk schema.GroupKind, object types.UID) *kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.byKind[gk]
	if found == nil {
		k.waiting[object] = struct{}{}
	}
	return found
}

// set replaces the kinds. It returns the kinds that were not there before, and the objects for
// which lookup did not find a kind since the last call.
func (k *kinds) set(found []*kind) (added []*kind, waiting []types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.byKind
	k.byKind = make(map[schema.GroupKind]*kind, len(found))
	for _, one := range found {
		gk := one.groupKind()
		if k.byKind[gk] != nil {
			continue
		}
		k.byKind[gk] = one
		if before[gk] == nil {
			added = append(added, one)
			delete(k.removed, gk)
		}
	}
	for gk, one := range before {
		if k.byKind[gk] == nil {
			k.removed[gk] = one
		}
	}
	waiting = slices.Collect(maps.Keys(k.waiting))
	clear(k.waiting)
	return added, waiting
}

// former returns a kind that the server had and has no longer, or nil.
func (k *kinds) former(gk schema.GroupKind) *kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.removed[gk]
}

// discover reads the kinds from discovery. If the discovery of a group fails, its known
// kinds are kept.
func (c Config) discover(ctx context.Context, known []*kind) ([]*kind, error) {
	lists, err := c.Discovery.ServerPreferredResourcesWithContext(ctx)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, err
	}
	before := make(map[kind]*kind, len(known))
	for _, k := range known {
		before[*k] = k
	}
	var found []*kind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"get"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			gv := c.StorageVersion.Of(gv.WithResource(resource.Name)).GroupVersion()
			k := newKind(gv, resource)
			if same := before[*k]; same != nil {
				// Monitors are stored by the pointer of their kind.
				k = same
			}
			found = append(found, k)
		}
	}
	for _, old := range known {
		if _, ok := failed[old.GroupVersion()]; ok && !slices.Contains(found, old) {
			found = append(found, old)
		}
	}
	return found, nil
}

func newKind(gv schema.GroupVersion, resource metav1.APIResource) *kind {
	k := &kind{GroupVersionResource: gv.WithResource(resource.Name), kind: resource.Kind, namespaced: resource.Namespaced}
	verbs := discovery.SupportsAllVerbs{Verbs: []string{"delete", "list", "watch"}}
	k.collectable = !isEvents(k.GroupResource()) && verbs.Match("", &resource)
	return k
}
