package ownership

import (
	"bytes"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/value"
)

// managers are the managed fields of an object, decoded when they are asked for.
type managers struct {
	// view is how server-side apply sees the object.
	view    *node
	entries []metav1.ManagedFieldsEntry
	sets    []*fieldpath.Set
}

func newManagers(entries []metav1.ManagedFieldsEntry) *managers {
	return &managers{entries: entries, sets: make([]*fieldpath.Set, len(entries))}
}

// set is what an entry owns; a malformed one owns nothing.
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

// judges says whether an entry owns anything that is judged: those of a status
// do not.
func (m *managers) judges(i int) bool { return m.entries[i].Subresource != "status" }

// hasApply says whether anybody applies the object on the server's side.
func (m *managers) hasApply() bool {
	for i := range m.entries {
		if m.entries[i].Operation == metav1.ManagedFieldsOperationApply && m.judges(i) {
			return true
		}
	}
	return false
}

// applied is the index of a manager's entry of server-side apply, or -1.
func (m *managers) applied(name string) int {
	for i := range m.entries {
		if m.entries[i].Operation == metav1.ManagedFieldsOperationApply && m.entries[i].Manager == name && m.judges(i) {
			return i
		}
	}
	return -1
}

// owns says whether a manager has a field or a part of it.
func (m *managers) owns(path []value.Step, isManager func(entry *metav1.ManagedFieldsEntry) bool) bool {
	for i := range m.entries {
		if isManager(&m.entries[i]) && covers(m.view, m.set(i), path) {
			return true
		}
	}
	return false
}

// Source is who set a value, and when.
type Source struct {
	Name string
	Time time.Time
}

// latest is who of the managers that have a field wrote last.
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

// covers says whether a set has a field, the whole that the field is a part of,
// or a part of it. The path may be of another view than the set: an item is
// found by the keys that both know.
func covers(n *node, set *fieldpath.Set, path []value.Step) bool {
	for i, step := range path {
		child, ok := descend(set, step)
		if !ok || i == len(path)-1 {
			return ok
		}
		if n = n.below(step); child == nil {
			// Of what is made of fields, a leaf is no more than its presence.
			return n == nil || n.shape == whole
		}
		set = child
	}
	return !set.Empty()
}

// below is the node at a step, nil if the view sees no further.
func (n *node) below(step value.Step) *node {
	switch {
	case n == nil:
		return nil
	case step.Kind == value.Name:
		return n.child(step.Name)
	}
	return n.elem
}

// descend finds what a set has at a step: nil if it is a leaf.
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

// matches says whether an element of a set is the item that a step names.
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
