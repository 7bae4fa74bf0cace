package ownership

import (
	"bytes"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/value"
)

// managers is the managed fields of an object. Each entry is decoded when it is
// needed.
type managers struct {
	// view is the view of server-side apply.
	view    *node
	entries []metav1.ManagedFieldsEntry
	sets    []*fieldpath.Set
}

func newManagers(entries []metav1.ManagedFieldsEntry) *managers {
	return &managers{entries: entries, sets: make([]*fieldpath.Set, len(entries))}
}

// set returns the fields of an entry, none if it is malformed.
func (m *managers) set(i int) *fieldpath.Set {
	if m.sets[i] == nil {
		m.sets[i] = &fieldpath.Set{}
		if fields := m.entries[i].FieldsV1; fields != nil {
			set := &fieldpath.Set{}
			if set.FromJSON(bytes.NewReader(fields.GetRawBytes())) == nil {
				m.sets[i] = set
			}
		}
	}
	return m.sets[i]
}

// judges reports whether the fields of an entry are judged. Those of the status
// subresource are not.
func (m *managers) judges(i int) bool { return m.entries[i].Subresource != "status" }

// hasApply reports whether a manager owns fields by server-side apply.
func (m *managers) hasApply() bool {
	for i := range m.entries {
		if m.entries[i].Operation == metav1.ManagedFieldsOperationApply && m.judges(i) {
			return true
		}
	}
	return false
}

// applied returns the index of a manager's entry of server-side apply, or -1.
func (m *managers) applied(name string) int {
	for i := range m.entries {
		if m.entries[i].Operation == metav1.ManagedFieldsOperationApply && m.entries[i].Manager == name && m.judges(i) {
			return i
		}
	}
	return -1
}

// owns reports whether a manager owns a field or a part of it.
func (m *managers) owns(path []value.Step, isManager func(entry *metav1.ManagedFieldsEntry) bool) bool {
	for i := range m.entries {
		if isManager(&m.entries[i]) && covers(m.view, m.set(i), path) {
			return true
		}
	}
	return false
}

// Source is the manager or command that set a value, and the time.
type Source struct {
	Name string
	Time time.Time
}

// latest returns the manager that wrote last, among the managers that own a field.
func (m *managers) latest(path []value.Step, isManager func(entry *metav1.ManagedFieldsEntry) bool) (Source, bool) {
	var found Source
	ok := false
	for i := range m.entries {
		entry := &m.entries[i]
		if !isManager(entry) || !covers(m.view, m.set(i), path) {
			continue
		}
		var at time.Time
		if entry.Time != nil {
			at = entry.Time.UTC()
		}
		if !ok || at.After(found.Time) {
			found, ok = Source{Name: entry.Manager, Time: at}, true
		}
	}
	return found, ok
}

// covers reports whether a set has a field, a part of it, or a field that it is a part
// of. The path may be of another view than the set: an item is found by the keys
// that both have.
func covers(n *node, set *fieldpath.Set, path []value.Step) bool {
	for i, step := range path {
		child, ok := descend(set, step)
		if !ok || i == len(path)-1 {
			return ok
		}
		if n = n.below(step); child == nil {
			// For a value with fields of its own, a leaf means only its presence.
			return n == nil || n.shape == atomic
		}
		set = child
	}
	return !set.Empty()
}

// below returns the node at a step, nil if the view has none.
func (n *node) below(step value.Step) *node {
	switch {
	case n == nil:
		return nil
	case step.Kind == value.Name:
		return n.child(step.Name)
	}
	return n.elem
}

// descend returns the set below a step, nil for a leaf, and whether the set has the
// step.
func descend(set *fieldpath.Set, step value.Step) (child *fieldpath.Set, ok bool) {
	if step.Kind == value.Name {
		element := fieldpath.PathElement{FieldName: &step.Name}
		if child := below(set, element); child != nil {
			return child, true
		}
		return nil, set.Members.Has(element)
	}
	for element := range elements(set) {
		if !ok && matches(element, step) {
			child, ok = below(set, element), true
		}
	}
	return child, ok
}

// matches reports whether an element of a set is the item that a step names.
func matches(element fieldpath.PathElement, step value.Step) bool {
	switch {
	case element.Value != nil:
		return step.Kind == value.Member && equal((*element.Value).Unstructured(), step.Value)
	case element.Key == nil || step.Kind != value.Item:
		return false
	}
	item, _ := step.Value.(map[string]any)
	for _, known := range *element.Key {
		if v, ok := item[known.Name]; ok && !equal(known.Value.Unstructured(), v) {
			return false
		}
	}
	return true
}
