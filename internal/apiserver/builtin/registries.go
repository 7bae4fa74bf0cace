package builtin

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/component-base/featuregate"

	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/native"
)

// Config configures Open. All fields except Ownership are required.
type Config struct {
	Scheme  *runtime.Scheme
	Options generic.RESTOptionsGetter
	// Ownership checks the owners of the fields that an update changes; nil checks nothing.
	Ownership *fieldownership.Checker
	// Policies has the rules of ImmutabilityPolicies; nil has none.
	Policies *policies.Rules
	// Features are the feature gates of the kinds.
	Features featuregate.FeatureGate
	// Selection lists the objects that each node uses.
	Selection *selection.Selection
	// EventTTL is how long an event is kept.
	EventTTL time.Duration
	// Kubelets serves the subresources that are forwarded to kubelets and pods.
	Kubelets *kubelet.Kubelets
	// Authorizer checks that users may use exec, attach and portforward.
	Authorizer authorizer.Authorizer
	// Keep returns an error if an object of a resource must be kept. Evictions call it: they delete pods without admission.
	Keep func(ctx context.Context, resource schema.GroupVersionResource, obj runtime.Object) error
	// TokenRequests serves serviceaccounts/token.
	TokenRequests rest.Storage
}

// Resources maps a resource or subresource, "pods" or "pods/status", to its registry.
type Resources map[string]rest.Storage

// Kind is one built-in kind with its registries.
type Kind struct {
	// Versions are the versions that serve it, the preferred one first.
	Versions  []schema.GroupVersion
	Resources Resources
}

// Registries are the registries of all built-in kinds.
type Registries struct {
	// Kinds are in the order of package native.
	Kinds []Kind
	// Stores are the stores of the kinds.
	Stores map[schema.GroupResource]*genericregistry.Store
}

// Open opens the registry of every built-in kind.
func Open(config Config) (*Registries, error) {
	out := &Registries{Stores: map[schema.GroupResource]*genericregistry.Store{}}
	for _, kind := range native.Kinds() {
		s := config.strategy(kind.WithFeatures(config.Features))
		base, err := newKindREST(s, config.Options)
		if err != nil {
			return nil, err
		}
		out.Stores[kind.GroupResource()] = base.Store
		out.Kinds = append(out.Kinds, Kind{
			Versions:  append([]schema.GroupVersion{kind.GroupVersion}, kind.OtherVersions...),
			Resources: config.resources(base, s, out.Stores),
		})
	}
	return out, nil
}

func (c Config) strategy(kind native.Kind) strategy {
	return strategy{ObjectTyper: c.Scheme, NameGenerator: names.SimpleNameGenerator, kind: kind, ownership: c.Ownership, policies: c.Policies}
}

// resources adds the subresources of a kind to its registry. The subresources of a kind may use
// the stores of other kinds, once all of them are open.
func (c Config) resources(base *kindREST, s strategy, stores map[schema.GroupResource]*genericregistry.Store) Resources {
	kind := base.kind
	out := Resources{kind.Resource: base}
	// Subresources copy the store, so the code that changes the store runs first.
	switch kind.Resource {
	case "namespaces":
		out["namespaces"] = newNamespaceREST(base)
		out["namespaces/finalize"] = newFinalizeREST(base, s)
	case "configmaps", "secrets":
		out[kind.Resource] = &usedByNodeREST{kindREST: base, selection: c.Selection}
	case "serviceaccounts":
		out["serviceaccounts/token"] = c.TokenRequests
	case "pods":
		out["pods/binding"] = &bindingREST{pods: base.Store, kind: kind, policies: c.Policies}
		out["pods/log"] = c.Kubelets.Log(base.Store)
		out["pods/exec"] = c.Kubelets.Exec(base.Store, c.Authorizer)
		out["pods/attach"] = c.Kubelets.Attach(base.Store, c.Authorizer)
		out["pods/portforward"] = c.Kubelets.PortForward(base.Store, c.Authorizer)
		out["pods/proxy"] = c.Kubelets.PodProxy(base.Store)
		out["pods/resize"] = newPodPart(base.Store, s, podResources())
		out["pods/ephemeralcontainers"] = newPodPart(base.Store, s, ephemeralContainers())
		out["pods/eviction"] = &evictionREST{
			pods: base.Store, status: newStatus(base.Store, statusStrategy{s}), budgets: budgets{stores}, keep: c.Keep,
		}
	case "nodes":
		out["nodes/proxy"] = c.Kubelets.NodeProxy()
	case "services":
		out["services/proxy"] = c.Kubelets.ServiceProxy()
	case "jobs":
		out[kind.Resource] = &jobREST{kindREST: base}
	case "resourceclaims", "resourceclaimtemplates":
		// Namespaces are the first kind of package native, so their store is open.
		out[kind.Resource] = &deviceClaimREST{kindREST: base, namespaces: stores[corev1.Resource("namespaces")]}
	case "priorityclasses":
		out[kind.Resource] = &priorityClassREST{kindREST: base}
	case "events":
		base.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return uint64(c.EventTTL.Seconds()), nil }
	}
	switch {
	case kind.Resource == "certificatesigningrequests":
		out[kind.Resource+"/status"] = newStatus(base.Store, signingStrategy{statusStrategy{s}})
		out[kind.Resource+"/approval"] = newStatus(base.Store, approvalStrategy{statusStrategy{s}})
	case kind.Status:
		out[kind.Resource+"/status"] = newStatus(base.Store, statusStrategy{s})
	}
	if kind.Scale != nil {
		out[kind.Resource+"/scale"] = newScale(base.Store, kind)
	}
	return out
}
