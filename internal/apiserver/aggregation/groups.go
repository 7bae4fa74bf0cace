package aggregation

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"

	"holdfast.dev/holdfast/internal/native"
)

// groups answers the discovery requests that show groups and versions, for clients that do
// not ask for the aggregated document: /apis and /apis/<group>.
type groups struct {
	local      discovery.GroupLister
	aggregated http.Handler
	// remote has the versions of other servers by group.
	remote map[string][]prioritized
	// priority has the priorities of the groups in remote.
	priority map[string]int32
}

// prioritized is a version with its priority in its group.
type prioritized struct {
	version  string
	priority int32
}

func newGroups(local discovery.GroupLister, aggregated http.Handler, proxies map[schema.GroupVersion]*proxy) *groups {
	g := &groups{local: local, aggregated: aggregated, remote: map[string][]prioritized{}, priority: map[string]int32{}}
	for gv, p := range proxies {
		g.remote[gv.Group] = append(g.remote[gv.Group], prioritized{gv.Version, p.service.Spec.VersionPriority})
		g.priority[gv.Group] = max(g.priority[gv.Group], p.service.Spec.GroupPriorityMinimum)
	}
	return g
}

// list returns the handler of /apis.
func (g *groups) list() http.Handler {
	return aggregated.WrapAggregatedDiscoveryToHandler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		all, err := g.all(req)
		if err != nil {
			refuse(w, req, err)
			return
		}
		answer(w, req, &metav1.APIGroupList{Groups: all})
	}), g.aggregated, nil)
}

// one returns the handler of /apis/<group>.
func (g *groups) one() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.Trim(strings.TrimPrefix(req.URL.Path, "/apis/"), "/")
		all, err := g.all(req)
		if err != nil {
			refuse(w, req, err)
			return
		}
		for i := range all {
			if all[i].Name == name {
				answer(w, req, &all[i])
				return
			}
		}
		refuse(w, req, apierrors.NewNotFound(schema.GroupResource{Group: name}, ""))
	})
}

// all returns the groups of this server and of the others, by priority. As in Kubernetes, the
// group of APIServices comes first, and no group has an address of the server.
func (g *groups) all(req *http.Request) ([]metav1.APIGroup, error) {
	local, err := g.local.Groups(req.Context(), req)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(local)
	for name, versions := range g.remote {
		at := slices.IndexFunc(all, func(group metav1.APIGroup) bool { return group.Name == name })
		if at < 0 {
			all = append(all, metav1.APIGroup{Name: name})
			at = len(all) - 1
		}
		all[at] = withVersions(all[at], versions)
	}
	for i := range all {
		all[i].ServerAddressByClientCIDRs = nil
	}
	builtIn, priorities := native.Groups(), groupPriorities()
	priorities[apiregistration.GroupName] = math.MaxInt32
	priority := func(group string) int32 {
		switch {
		case priorities[group] > 0:
			return priorities[group]
		case builtIn[group]:
			return otherGroupPriority
		case g.priority[group] > 0:
			return g.priority[group]
		}
		return customGroupPriority
	}
	slices.SortFunc(all, func(a, b metav1.APIGroup) int {
		return cmp.Or(cmp.Compare(priority(b.Name), priority(a.Name)), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// withVersions adds the versions of other servers to a group, and sorts all versions by
// priority, the preferred one first. The versions that the group already has come from
// definitions: other servers cannot serve groups of built-in kinds.
func withVersions(group metav1.APIGroup, remote []prioritized) metav1.APIGroup {
	versions := slices.Clone(remote)
	for _, local := range group.Versions {
		if !slices.ContainsFunc(versions, func(v prioritized) bool { return v.version == local.Version }) {
			versions = append(versions, prioritized{local.Version, customVersionPriority})
		}
	}
	slices.SortFunc(versions, func(a, b prioritized) int {
		if order := cmp.Compare(b.priority, a.priority); order != 0 {
			return order
		}
		return version.CompareKubeAwareVersionStrings(b.version, a.version)
	})
	group.Versions = nil
	for _, v := range versions {
		gv := schema.GroupVersion{Group: group.Name, Version: v.version}
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.version})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}

func answer(w http.ResponseWriter, req *http.Request, obj runtime.Object) {
	responsewriters.WriteObjectNegotiated(aggregatorscheme.Codecs, negotiation.DefaultEndpointRestrictions, schema.GroupVersion{}, w, req,
		http.StatusOK, obj, false)
}

func refuse(w http.ResponseWriter, req *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, aggregatorscheme.Codecs, schema.GroupVersion{}, w, req)
}
