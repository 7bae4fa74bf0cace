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
	// others are the other subresources that can change a field with a rule.
	others  []Subresource
	Sources []Source
}

// Endpoints are the subresources of a resource.
type Endpoints struct {
	HasStatus bool
	// Replicas is the path of the replicas that the scale writes, nil without a scale.
	Replicas []string
	// Subresources are the others that change the object.
	Subresources []Subresource
	// Unjudged are writes that the API server makes without asking the rules.
	Unjudged []Unjudged
	// unknown says which subresources cannot be judged, and why.
	unknown []string
}

// Unjudged is a write that is not judged on purpose.
type Unjudged struct {
	// Path is the field that it changes.
	Path []string
	// Write says what writes the field.
	Write string
}

// notes names the writes that are not judged, although they can change a field with a rule.
func (e Endpoints) notes(marks []immutability.Mark) []string {
	var out []string
	for _, each := range e.Unjudged {
		if slices.ContainsFunc(marks, func(m immutability.Mark) bool { return !m.IsNoDelete() && meet(m.Path.Steps(), each.Path) }) {
			out = append(out, each.Write+", which the rules do not judge")
		}
	}
	return out
}

// add records which endpoints a rule needs. A write of the resource does not change the status if
// there is a subresource for it, and the status and the scale change nothing else.
func (r *Resource) add(marks []immutability.Mark, version string, e Endpoints) {
	if e.Replicas != nil {
		r.Replicas[version] = e.Replicas
	}
	for _, m := range marks {
		if !m.In(version) || m.IsNoDelete() {
			continue
		}
		if m.IsMetadata() {
			r.addRelabelling(e)
			continue
		}
		steps := m.Path.Steps()
		underStatus := len(steps) > 0 && steps[0].Kind == value.Name && steps[0].Name == "status"
		r.status = r.status || underStatus && e.HasStatus
		r.main = r.main || !underStatus || !e.HasStatus
		r.scale = r.scale || e.Replicas != nil && meet(steps, e.Replicas)
		for _, s := range e.Subresources {
			if !underStatus && s.changes(steps) {
				r.addOther(s)
			}
		}
	}
}

// addRelabelling records the endpoints that can change the labels of an object. The status of a custom resource cannot.
func (r *Resource) addRelabelling(e Endpoints) {
	r.main = true
	r.status = r.status || e.HasStatus
	for _, s := range e.Subresources {
		r.addOther(s)
	}
}

func (r *Resource) addOther(s Subresource) {
	if !slices.ContainsFunc(r.others, func(known Subresource) bool { return known.Name == s.Name }) {
		r.others = append(r.others, s)
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

// Names returns the resource and its subresources for a webhook configuration: those whose updates can change a field with a rule.
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
	for _, s := range r.others {
		if !s.creates {
			out = append(out, r.Resource+"/"+s.Name)
		}
	}
	return out
}

// Created returns the resources of which the creation of an object can change a field with a rule. The core resource bindings is
// another way to write the binding of a pod.
func (r *Resource) Created() []string {
	if slices.ContainsFunc(r.others, func(s Subresource) bool { return s.creates }) {
		return []string{"bindings", r.Resource + "/" + BindingSubresource}
	}
	return nil
}

// FieldsOf splits a simple JSON path: .spec.replicas.
func FieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
