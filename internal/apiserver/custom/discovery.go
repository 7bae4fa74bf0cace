package custom

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubeversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"

	"holdfast.dev/holdfast/internal/definition"
)

// The priorities of custom groups in discovery are those of Kubernetes.
const groupPriority, versionPriority = 1000, 100

// discoveryHandler serves the discovery documents of custom resources.
type discoveryHandler struct {
	groups     discovery.GroupManager
	aggregated aggregated.ResourceManager
	codecs     serializer.CodecFactory
	notFound   http.Handler

	mu        sync.RWMutex
	byGroup   map[string]http.Handler
	byVersion map[schema.GroupVersion]http.Handler
}

func newDiscoveryHandler(
	groups discovery.GroupManager, all aggregated.ResourceManager, codecs serializer.CodecFactory, notFound http.Handler,
) *discoveryHandler {
	return &discoveryHandler{
		groups: groups, aggregated: all.WithSource(aggregated.CRDSource), codecs: codecs, notFound: notFound,
		byGroup: map[string]http.Handler{}, byVersion: map[schema.GroupVersion]http.Handler{},
	}
}

// ServeHTTP implements http.Handler for /apis/<group> and /apis/<group>/<version>.
func (d *discoveryHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	var handler http.Handler
	d.mu.RLock()
	switch {
	case len(parts) == 2 && parts[0] == "apis":
		handler = d.byGroup[parts[1]]
	case len(parts) == 3 && parts[0] == "apis":
		handler = d.byVersion[schema.GroupVersion{Group: parts[1], Version: parts[2]}]
	}
	d.mu.RUnlock()
	if handler == nil {
		handler = d.notFound
	}
	handler.ServeHTTP(w, req)
}

// update replaces the discovery documents of a group by those of its established
// definitions. It returns the versions that are served, the preferred one first.
func (d *discoveryHandler) update(group string, crds []*definition.CustomResourceDefinition) []string {
	resources := map[string][]metav1.APIResource{}
	for _, crd := range crds {
		for i := range crd.Spec.Versions {
			if v := &crd.Spec.Versions[i]; v.Served {
				resources[v.Name] = append(resources[v.Name], resourcesOf(crd, v)...)
			}
		}
	}
	var names []string
	for name := range resources {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return kubeversion.CompareKubeAwareVersionStrings(b, a) })

	d.mu.Lock()
	defer d.mu.Unlock()
	for gv := range d.byVersion {
		if gv.Group == group && resources[gv.Version] == nil {
			delete(d.byVersion, gv)
			d.aggregated.RemoveGroupVersion(metav1.GroupVersion(gv))
		}
	}
	if len(names) == 0 {
		delete(d.byGroup, group)
		d.groups.RemoveGroup(group)
		d.aggregated.RemoveGroup(group)
		return nil
	}
	described := metav1.APIGroup{Name: group}
	for _, name := range names {
		gv := schema.GroupVersion{Group: group, Version: name}
		described.Versions = append(described.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: name})
		list := resources[name]
		lister := discovery.APIResourceListerFunc(func() []metav1.APIResource { return list })
		d.byVersion[gv] = discovery.NewAPIVersionHandler(d.codecs, gv, lister)
		d.aggregated.AddGroupVersion(group, apidiscoveryv2.APIVersionDiscovery{
			Version: name, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent, Resources: aggregate(gv, list),
		})
		d.aggregated.SetGroupVersionPriority(metav1.GroupVersion(gv), groupPriority, versionPriority)
	}
	described.PreferredVersion = described.Versions[0]
	d.byGroup[group] = discovery.NewAPIGroupHandler(d.codecs, described)
	d.groups.AddGroup(described)
	return names
}

// resourcesOf returns a resource and its subresources.
func resourcesOf(crd *definition.CustomResourceDefinition, v *definition.CustomResourceDefinitionVersion) []metav1.APIResource {
	names, namespaced := crd.Status.AcceptedNames, crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	verbs := metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	if crd.DeletionTimestamp != nil {
		verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
	}
	out := []metav1.APIResource{{
		Name: names.Plural, SingularName: names.Singular, Namespaced: namespaced, Kind: names.Kind, Verbs: verbs,
		ShortNames: names.ShortNames, Categories: names.Categories,
		StorageVersionHash: discovery.StorageVersionHash(crd.Spec.Group, crd.Spec.StorageVersion(), names.Kind),
	}}
	subresourceVerbs := metav1.Verbs{"get", "patch", "update"}
	if v.Subresources != nil && v.Subresources.Status != nil {
		out = append(out, metav1.APIResource{Name: names.Plural + "/status", Namespaced: namespaced, Kind: names.Kind, Verbs: subresourceVerbs})
	}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		out = append(out, metav1.APIResource{
			Name: names.Plural + "/scale", Namespaced: namespaced, Verbs: subresourceVerbs,
			Group: autoscalingv1.GroupName, Version: "v1", Kind: "Scale",
		})
	}
	return out
}

// aggregate converts a list of resources to aggregated discovery.
func aggregate(gv schema.GroupVersion, resources []metav1.APIResource) []apidiscoveryv2.APIResourceDiscovery {
	var out []apidiscoveryv2.APIResourceDiscovery
	for _, r := range resources {
		kind := &metav1.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: r.Kind}
		if r.Version != "" {
			kind.Group, kind.Version = r.Group, r.Version
		}
		if _, sub, ok := strings.Cut(r.Name, "/"); ok {
			parent := &out[len(out)-1]
			parent.Subresources = append(parent.Subresources, apidiscoveryv2.APISubresourceDiscovery{
				Subresource: sub, ResponseKind: kind, Verbs: r.Verbs,
			})
			continue
		}
		scope := apidiscoveryv2.ScopeCluster
		if r.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		out = append(out, apidiscoveryv2.APIResourceDiscovery{
			Resource: r.Name, SingularResource: r.SingularName, Scope: scope, ResponseKind: kind,
			Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	slices.SortFunc(out, func(a, b apidiscoveryv2.APIResourceDiscovery) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}
