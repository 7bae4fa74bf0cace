package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/value"
)

// Resource is a guarded resource.
type Resource struct {
	schema.GroupResource
	Kind schema.GroupKind
	// Versions are the versions in which the API server sends objects, ["*"] for those of the requests.
	Versions []string
	// main, status and scale say which of the endpoints can change a field with a rule.
	main, status, scale bool
	// Replicas are the paths of the replicas that the scale writes, by version.
	Replicas map[string][]string
	Sources  []Source
}

// Endpoints are the subresources of a resource.
type Endpoints struct {
	HasStatus bool
	// Replicas is the path of the replicas that the scale writes, nil without a scale.
	Replicas []string
}

// add records which endpoints a rule needs. A write of the resource does not change the status if
// there is a subresource for it, and the subresources change nothing else.
func (r *Resource) add(marks []immutability.Mark, version string, e Endpoints) {
	if e.Replicas != nil {
		r.Replicas[version] = e.Replicas
	}
	for _, m := range marks {
		if !m.In(version) {
			continue
		}
		steps := m.Path.Steps()
		underStatus := len(steps) > 0 && steps[0].Kind == value.Name && steps[0].Name == "status"
		r.status = r.status || underStatus && e.HasStatus
		r.main = r.main || !underStatus || !e.HasStatus
		r.scale = r.scale || e.Replicas != nil && meet(steps, e.Replicas)
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
func (r *Resource) guardedBy(policy string) bool {
	return r != nil && slices.ContainsFunc(r.Sources, func(s Source) bool { return s.Policy == policy })
}

// Names returns the resource and its subresources for a webhook configuration.
func (r *Resource) Names() []string {
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

// FieldsOf splits a simple JSON path: .spec.replicas.
func FieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
