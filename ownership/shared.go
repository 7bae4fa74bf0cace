package ownership

import (
	"slices"

	"holdfast.dev/holdfast/value"
)

// free returns the fields at the top of an object that a controller computes.
func (t *Type) free(obj map[string]any) []string {
	if t.Free == nil {
		return nil
	}
	return t.Free(obj)
}

// dropShared removes findings that are not about a value of the writer or of apply: those about fields that a controller
// computes, and those about fields that only follow another field.
func (j *judgement) dropShared() {
	if len(j.Findings) == 0 {
		return
	}
	free, found := j.Type.free(j.Live), slices.Clone(j.Findings)
	j.Findings = slices.DeleteFunc(j.Findings, func(f Finding) bool {
		top := f.Path.Path
		for top.Parent() != nil {
			top = top.Parent()
		}
		return slices.Contains(free, top.Last().Name) || j.isTwin(f, found)
	})
}

// isTwin reports whether a finding is about a field that follows another field: either that field has a finding too, or the
// next client-side apply cannot change the field, because the other field has a value that wins.
func (j *judgement) isTwin(f Finding, found []Finding) bool {
	steps := f.Path.Steps()
	member := steps[len(steps)-1]
	if member.Kind == value.Member {
		steps = steps[:len(steps)-1] // a member of a list such as podCIDRs
	}
	other := j.Type.Applied.leading(steps)
	if other == "" {
		other = j.Type.Managed.leading(steps)
	}
	if other == "" {
		return false
	}
	steps[len(steps)-1] = nameStep(other)
	leading := newPath(steps)
	if slices.ContainsFunc(found, func(one Finding) bool {
		return isSamePath(one.Path, leading) &&
			(member.Kind != value.Member || equal(one.Live, member.Value) || equal(one.New, member.Value))
	}) {
		return true
	}
	return f.Kind == Overwrites && f.Manager == "" && !isAbsent(f.New) && j.mode.Equal(lookup(j.New, steps), f.New)
}

// isSamePath reports whether two paths name the same field.
func isSamePath(a, b Path) bool {
	return a.Len() == b.Len() && isWithin(a.Path, b.Path)
}

// Follow says that the server keeps a field of a model, such as io.k8s.api.core.v1.PodSpec, equal to another field of the same
// model. A change of both is then one finding, of the other field. It must be called before the first call of View.
func (v *Views) Follow(model, field, other string) {
	if v.twins[model] == nil {
		v.twins[model] = map[string]string{}
	}
	v.twins[model][field] = other
}

// leading returns the name of the field that the field at the end of a path follows, "" if there is none.
func (v *View) leading(steps []value.Step) string {
	last := steps[len(steps)-1]
	if last.Kind != value.Name {
		return ""
	}
	n := v.root
	for _, step := range steps[:len(steps)-1] {
		if n == nil {
			return ""
		}
		if step.Kind == value.Name || step.Kind == value.Key {
			n = n.child(step.Name)
		} else {
			n = n.elem
		}
	}
	if n == nil {
		return ""
	}
	return n.twins[last.Name]
}
