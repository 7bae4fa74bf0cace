package ownership

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/value"
)

// judgeManaged finds changed fields that server-side apply owns. Fields that
// client-side apply owns are already found and not reported again.
func (j *judgement) judgeManaged() {
	known := len(j.Findings)
	for i := range j.managers.entries {
		entry := &j.managers.entries[i]
		if entry.Operation != metav1.ManagedFieldsOperationApply || !j.managers.judges(i) {
			continue
		}
		s := setWalk{mode: j.mode, found: func(f Finding) {
			f.Manager, f.Applied = entry.Manager, f.Live
			if !j.isKnown(f.Path, known) {
				j.Findings = append(j.Findings, f)
			}
		}}
		s.root(j.Type.Managed.root, j.managers.set(i), j.Live, j.New)
		// A field with several owners is one finding, of the first owner.
		known = len(j.Findings)
	}
}

// isKnown reports whether one of the first findings is about the same field, a part
// of it, or a field that it is a part of.
func (j *judgement) isKnown(path Path, first int) bool {
	for i := range j.Findings[:first] {
		if other := j.Findings[i].Path; isWithin(path.Path, other.Path) || isWithin(other.Path, path.Path) {
			return true
		}
	}
	return false
}

// judgeForced finds the fields that a forced server-side apply takes from other
// managers and from the last-applied configuration.
func (j *judgement) judgeForced() {
	updated := newManagers(j.NewManagers)
	manager := j.Write.Writer.Manager
	own := updated.applied(manager)
	if own < 0 {
		return
	}
	if before := j.managers.applied(manager); before >= 0 && hasSameFields(&j.managers.entries[before], &updated.entries[own]) {
		// The manager owned every field before, and takes none.
		return
	}
	isOwn := func(entry *metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply
	}
	isOther := func(entry *metav1.ManagedFieldsEntry) bool { return !isOwn(entry) }
	s := setWalk{mode: j.mode, found: func(f Finding) {
		path := f.Path.Steps()
		if isAbsent(f.Live) || j.managers.owns(path, isOwn) {
			return
		}
		last, taken := j.managers.latest(path, isOther)
		if !taken && !j.wasApplied(path) || j.isDefault(path, f.Live) {
			return
		}
		f.Kind, f.LastSet, f.clientSide = ChangesForeign, last, j.wasApplied(path)
		if f.clientSide {
			f.Applied = lookup(j.config.values, path)
		}
		j.Findings = append(j.Findings, f)
	}}
	s.root(j.Type.Managed.root, updated.set(own), j.Live, j.New)
}

// hasSameFields reports whether two entries have the same text of their fields.
func hasSameFields(a, b *metav1.ManagedFieldsEntry) bool {
	return a.FieldsV1 != nil && b.FieldsV1 != nil && bytes.Equal(a.FieldsV1.GetRawBytes(), b.FieldsV1.GetRawBytes())
}

// wasApplied reports whether the last-applied configuration has a field.
func (j *judgement) wasApplied(path []value.Step) bool {
	if j.config == nil || j.config.values == nil {
		return false
	}
	return !isAbsent(lookup(j.config.values, path))
}

// lookup returns the value at a path. If the path has further steps below a scalar,
// it returns the scalar.
func lookup(v any, path []value.Step) any {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			if step.Kind != value.Name {
				return value.Absent{}
			}
			v = field(at, step.Name)
		case []any:
			v = lookupItem(at, step)
		default:
			return v
		}
	}
	return v
}

// lookupItem returns the item of a list that a step names.
func lookupItem(list []any, step value.Step) any {
	if i := indexOf(list, step); i >= 0 {
		return list[i]
	}
	return value.Absent{}
}
