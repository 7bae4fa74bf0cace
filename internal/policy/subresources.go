package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/value"
)

// Subresource is a part of a resource, besides the status and the scale, whose writes change the object.
type Subresource struct {
	Name string
	// paths are the fields that a write can change, none if it can change all.
	paths [][]string
	// creates means that a write creates another object: a Binding sets the node of a pod.
	creates bool
}

// BindingSubresource is the subresource of pods whose writes set their node.
const BindingSubresource = "binding"

// knownSubresources returns the subresources of Kubernetes whose writes change some fields only.
func knownSubresources() map[string]Subresource {
	return map[string]Subresource{
		"pods/resize":              {Name: "resize", paths: [][]string{{"spec", "containers"}, {"spec", "initContainers"}, {"spec", "resources"}}},
		"pods/ephemeralcontainers": {Name: "ephemeralcontainers", paths: [][]string{{"spec", "ephemeralContainers"}}},
		"pods/binding":             {Name: BindingSubresource, paths: [][]string{{"spec", "nodeName"}}, creates: true},
		"namespaces/finalize":      {Name: "finalize", paths: [][]string{{"spec", "finalizers"}}},
	}
}

// changesNothing are the subresources of Kubernetes that are written without a change of the object, or that delete it.
func changesNothing() []string {
	return []string{
		"pods/attach", "pods/eviction", "pods/exec", "pods/log", "pods/portforward", "pods/proxy", "serviceaccounts/token", "services/proxy",
	}
}

// EndpointsOf returns the endpoints of a resource in the list of a discovery document. Its kind is that of the resource itself.
func EndpointsOf(name schema.GroupResource, kind string, listed []metav1.APIResource) Endpoints {
	var e Endpoints
	for _, r := range listed {
		of, sub, isSub := strings.Cut(r.Name, "/")
		if !isSub || of != name.Resource {
			continue
		}
		known, isKnown := knownSubresources()[r.Name]
		writes := slices.ContainsFunc(r.Verbs, func(verb string) bool {
			return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, verb)
		})
		switch {
		case sub == "status":
			e.HasStatus = true
		case sub == "scale":
			e.Replicas = []string{"spec", "replicas"}
		case name.Group == "" && isKnown:
			e.Subresources = append(e.Subresources, known)
		case !writes || name.Group == "" && slices.Contains(changesNothing(), r.Name):
		case r.Kind == kind:
			e.Subresources = append(e.Subresources, Subresource{Name: sub})
		default:
			e.unknown = append(e.unknown, fmt.Sprintf("%s is not judged: it takes objects of the kind %s, "+
				"and nothing says which fields of a %s they change", sub, r.Kind, kind))
		}
	}
	return e
}

// changes reports whether a write of the subresource can change a field with a rule, or a part of it.
func (s Subresource) changes(steps []value.Step) bool {
	return len(s.paths) == 0 || slices.ContainsFunc(s.paths, func(path []string) bool { return meet(steps, path) })
}
