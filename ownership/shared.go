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
	last := f.Path.Last()
	other, ok := j.Type.Twins[last.Name]
	if !ok || last.Kind != value.Name {
		return false
	}
	steps := f.Path.Steps()
	steps[len(steps)-1] = nameStep(other)
	leading := newPath(steps)
	return slices.ContainsFunc(found, func(one Finding) bool { return isSamePath(one.Path, leading) }) ||
		f.Kind == Overwrites && f.Manager == "" && !isAbsent(f.New) && j.mode.Equal(lookup(j.New, steps), f.New)
}

// isSamePath reports whether two paths name the same field.
func isSamePath(a, b Path) bool {
	return a.Len() == b.Len() && isWithin(a.Path, b.Path)
}
