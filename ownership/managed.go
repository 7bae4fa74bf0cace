package ownership

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
		s := setWalk{found: func(f Finding) {
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
	isOwn := func(entry *metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply
	}
	isOther := func(entry *metav1.ManagedFieldsEntry) bool { return !isOwn(entry) }
	s := setWalk{found: func(f Finding) {
		path := f.Path.Steps()
		if isAbsent(f.Live) || j.managers.owns(path, isOwn) {
			return
		}
		last, taken := j.managers.latest(path, isOther)
		if !taken && !j.isApplied(path) {
			return
		}
		f.Kind, f.LastSet = ChangesForeign, last
		j.Findings = append(j.Findings, f)
	}}
	s.root(j.Type.Managed.root, updated.set(own), j.Live, j.New)
}

// isApplied reports whether the last-applied configuration has a field.
func (j *judgement) isApplied(path []value.Step) bool {
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
	for _, item := range list {
		if isNamed(item, step) {
			return item
		}
	}
	return value.Absent{}
}

// isNamed reports whether a step names an item of a list. It ignores keys that the
// item does not have: an applied configuration may leave out keys with defaults.
func isNamed(item any, step value.Step) bool {
	if step.Kind == value.Member {
		return equal(item, step.Value)
	}
	object, ok := item.(map[string]any)
	if !ok || step.Kind != value.Item {
		return false
	}
	like, _ := step.Value.(map[string]any)
	for _, key := range step.Keys {
		if v := field(object, key); !isAbsent(v) && !equal(v, field(like, key)) {
			return false
		}
	}
	return true
}

// setWalk visits the fields of a managed-fields entry and compares their values in the
// object before and after a write.
type setWalk struct {
	path  []value.Step
	found func(Finding)
}

// root walks the judged fields of an object.
func (s *setWalk) root(n *node, set *fieldpath.Set, live, updated map[string]any) {
	for element := range elements(set) {
		name := element.FieldName
		if name == nil || *name == "status" || *name == "apiVersion" || *name == "kind" {
			continue
		}
		oldValue, newValue := live, updated
		if *name == "metadata" {
			oldValue, newValue = judgedPart(live), judgedPart(updated)
		}
		s.step(nameStep(*name), n.child(*name), below(set, element), pair{field(oldValue, *name), field(newValue, *name)})
	}
}

// pair is the values of one field in both objects.
type pair struct{ live, updated any }

func (s *setWalk) step(step value.Step, n *node, set *fieldpath.Set, p pair) {
	s.path = append(s.path, step)
	s.follow(n, set, p)
	s.path = s.path[:len(s.path)-1]
}

// follow reports the changed fields of a set. The nil set is a leaf. A field that the
// schema now takes as one value is a leaf too: it may have had fields of its own when
// the set was written.
func (s *setWalk) follow(n *node, set *fieldpath.Set, p pair) {
	if isAbsent(p.live) || isAbsent(p.updated) {
		if isAbsent(p.live) != isAbsent(p.updated) {
			s.report(p)
		}
		return
	}
	if set == nil || n == nil || n.shape == atomic {
		if isGranular(n, p.live) && isGranular(n, p.updated) {
			// A leaf for an object or list with fields means that only its presence is
			// owned.
			return
		}
		if !equal(p.live, p.updated) {
			s.report(p)
		}
		return
	}
	for element := range elements(set) {
		s.element(n, element, below(set, element), p)
	}
}

func (s *setWalk) element(n *node, element fieldpath.PathElement, set *fieldpath.Set, p pair) {
	switch {
	case element.FieldName != nil:
		live, ok := p.live.(map[string]any)
		updated, okNew := p.updated.(map[string]any)
		if ok && okNew {
			name := *element.FieldName
			s.step(nameStep(name), n.child(name), set, pair{field(live, name), field(updated, name)})
		}
	case element.Key != nil:
		keys, item := make([]string, 0, len(*element.Key)), map[string]any{}
		for _, f := range *element.Key {
			keys = append(keys, f.Name)
			item[f.Name] = f.Value.Unstructured()
		}
		elem := n.elem
		if elem == nil {
			elem = newUntyped()
		}
		s.step(itemStep(keys, item), elem, set,
			pair{newItems(p.live, keys).find(item, 0), newItems(p.updated, keys).find(item, 0)})
	case element.Value != nil:
		member := (*element.Value).Unstructured()
		s.step(memberStep(member), &node{}, nil,
			pair{newMembership(p.live).find(member), newMembership(p.updated).find(member)})
	}
}

func (s *setWalk) report(p pair) {
	s.found(Finding{Path: newPath(s.path), Live: p.live, New: p.updated, Applied: value.Absent{}})
}

// elements yields the elements on the first level of a set, each once. They are
// collected first, because the iterators of the library cannot be stopped.
func elements(set *fieldpath.Set) func(yield func(fieldpath.PathElement) bool) {
	all := make([]fieldpath.PathElement, 0, set.Members.Size())
	set.Children.Iterate(func(element fieldpath.PathElement) { all = append(all, element) })
	set.Members.Iterate(func(element fieldpath.PathElement) {
		if _, ok := set.Children.Get(element); !ok {
			all = append(all, element)
		}
	})
	return slices.Values(all)
}

// below returns the set below an element, nil for a leaf.
func below(set *fieldpath.Set, element fieldpath.PathElement) *fieldpath.Set {
	child, ok := set.Children.Get(element)
	if !ok || child.Empty() {
		return nil
	}
	return child
}

// isGranular reports whether the parts of a value are fields of their own.
func isGranular(n *node, v any) bool {
	switch v.(type) {
	case map[string]any:
		return n != nil && (n.shape == record || n.shape == mapping)
	case []any:
		return n != nil && (n.shape == keyed || n.shape == set)
	}
	return false
}
