package garbage

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
)

// kind is one kind the server has, in the version the server prefers.
type kind struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	// collected says that its objects can be watched and deleted.
	collected bool
}

func (k *kind) groupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.kind} }

// isDefinitions reports whether a change to objects of the kind may be a change
// to the kinds there are.
func (k *kind) isDefinitions() bool {
	return k.GroupResource() == schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// isEvents reports whether a kind is that of events, which Kubernetes does not
// collect: they come by the thousand and go on their own.
func isEvents(gr schema.GroupResource) bool {
	return gr.Resource == "events" && (gr.Group == "" || gr.Group == "events.k8s.io")
}

// kinds are those the server has.
type kinds struct {
	mu     sync.Mutex
	byKind map[schema.GroupKind]*kind
	// parked are the objects that name an owner of a kind that is not known.
	parked map[types.UID]struct{}
}

// lookup finds a kind. For one that is not known it returns nil, and the object
// that asked is looked at again when there are new kinds.
func (k *kinds) lookup(gk schema.GroupKind, asked types.UID) *kind {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.byKind[gk]
	if found == nil {
		k.parked[asked] = struct{}{}
	}
	return found
}

// set replaces the kinds and returns the objects that waited for new ones.
func (k *kinds) set(found []*kind) []types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byKind = make(map[schema.GroupKind]*kind, len(found))
	for _, one := range found {
		if k.byKind[one.groupKind()] == nil {
			k.byKind[one.groupKind()] = one
		}
	}
	var parked []types.UID
	for uid := range k.parked {
		parked = append(parked, uid)
	}
	clear(k.parked)
	return parked
}

// discover asks the server for its kinds. Of groups that do not answer, those
// known before stay.
func discover(ctx context.Context, client discovery.DiscoveryInterfaceWithContext, known []*kind) ([]*kind, error) {
	lists, err := client.ServerPreferredResourcesWithContext(ctx)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, err
	}
	var found []*kind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"get"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			found = append(found, same(known, newKind(gv, resource)))
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
	k.collected = !isEvents(k.GroupResource()) && discovery.SupportsAllVerbs{Verbs: []string{"delete", "list", "watch"}}.Match("", &resource)
	return k
}

// same is the known kind that says what k says, or k.
func same(known []*kind, k *kind) *kind {
	if i := slices.IndexFunc(known, func(old *kind) bool { return *old == *k }); i >= 0 {
		return known[i]
	}
	return k
}
