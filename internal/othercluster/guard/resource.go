package guard

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/value"
)

// resource is a guarded resource.
type resource struct {
	schema.GroupResource
	kind schema.GroupKind
	// versions are the versions in which the API server sends objects, ["*"] for those of the requests.
	versions []string
	// main, status and scale say which of the endpoints can change a field with a rule.
	main, status, scale bool
	// replicas are the paths of the replicas that the scale writes, by version.
	replicas map[string][]string
	sources  []source
}

// endpoints are the subresources of a resource.
type endpoints struct {
	hasStatus bool
	// replicas is the path of the replicas that the scale writes, nil without a scale.
	replicas []string
}

// add records which endpoints a rule needs. A write of the resource does not change the status if
// there is a subresource for it, and the subresources change nothing else.
func (r *resource) add(marks []immutability.Mark, version string, e endpoints) {
	if e.replicas != nil {
		r.replicas[version] = e.replicas
	}
	for _, m := range marks {
		if !m.In(version) {
			continue
		}
		steps := m.Path.Steps()
		underStatus := len(steps) > 0 && steps[0].Kind == value.Name && steps[0].Name == "status"
		r.status = r.status || underStatus && e.hasStatus
		r.main = r.main || !underStatus || !e.hasStatus
		r.scale = r.scale || e.replicas != nil && meet(steps, e.replicas)
	}
}

// meet reports whether a field with a rule is at, above or below a path.
func meet(steps []value.Step, path []string) bool {
	for i := range min(len(steps), len(path)) {
		if steps[i].Kind == value.Name && steps[i].Name != path[i] {
			return false
		}
	}
	return true
}

// guardedBy reports whether a policy has rules for the resource, which may be nil.
func (r *resource) guardedBy(policy string) bool {
	return r != nil && slices.ContainsFunc(r.sources, func(s source) bool { return s.policy == policy })
}

// names returns the resource and its subresources for a webhook configuration.
func (r *resource) names() []string {
	var out []string
	if r.main {
		out = append(out, r.Resource)
	}
	if r.scale {
		out = append(out, r.Resource+"/scale")
	}
	if r.status {
		out = append(out, r.Resource+"/status")
	}
	return out
}

// fieldsOf splits a simple JSON path: .spec.replicas.
func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
