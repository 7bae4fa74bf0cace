package owners

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// managedFields are the managed fields of an object. Changes copy the entries.
type managedFields struct {
	entries []metav1.ManagedFieldsEntry
	changed bool
}

// appliers returns the managers of server-side apply.
func (m *managedFields) appliers() []string {
	var names []string
	for _, entry := range m.entries {
		if isApplier(entry) && entry.Subresource == "" && !slices.Contains(names, entry.Manager) {
			names = append(names, entry.Manager)
		}
	}
	return names
}

func isApplier(entry metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource != "status"
}

func isUpdater(entry metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource != "status"
}

// release moves a field from the entries of server-side apply to one of an imperative
// command. An apply that has the field then gets a conflict. owners are the managers that own
// the field or a part of it.
func (m *managedFields) release(path ownership.Path, owners []string) (bool, error) {
	if len(owners) == 0 {
		return false, nil
	}
	taken, version, err := m.take(path, isApplier)
	if err != nil {
		return false, err
	}
	if taken.Empty() {
		return false, fmt.Errorf("field %s: it is part of a larger value for server-side apply (%s); transfer that", path, owners[0])
	}
	return true, m.add(metav1.ManagedFieldsEntry{
		Manager: transferManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: version,
	}, taken)
}

// give moves a field from the entries of imperative commands to that of a manager of
// server-side apply. If the manager has no entry yet, give adds the entry to.
func (m *managedFields) give(path ownership.Path, to metav1.ManagedFieldsEntry) error {
	taken, _, err := m.take(path, isUpdater)
	if err != nil {
		return err
	}
	if taken.Empty() {
		// The server set the field itself, or did not record its manager.
		named, ok := named(path)
		if !ok {
			return fmt.Errorf("field %s: no manager is recorded for it: apply a file that has it", path)
		}
		taken.Insert(named)
	}
	to.Operation = metav1.ManagedFieldsOperationApply
	return m.add(to, taken)
}

// named returns a path of names as a path of managed fields. It returns false for a path with
// an item of a list: server-side apply may identify the item by other keys.
func named(path ownership.Path) (fieldpath.Path, bool) {
	var out fieldpath.Path
	for _, step := range path.Steps() {
		if step.Kind != value.Name {
			return nil, false
		}
		out = append(out, fieldpath.PathElement{FieldName: &step.Name})
	}
	return out, true
}

// sharesWithUpdates reports whether an imperative command owns a field too.
func (m *managedFields) sharesWithUpdates(path ownership.Path) bool {
	return slices.ContainsFunc(m.entries, func(entry metav1.ManagedFieldsEntry) bool {
		set, err := decodeFields(entry)
		return err == nil && isUpdater(entry) && !within(set, path).Empty()
	})
}

// take removes a field from the entries of a kind. It returns the fields that it removed, and
// the API version that they are in.
func (m *managedFields) take(
	path ownership.Path, isKind func(metav1.ManagedFieldsEntry) bool,
) (*fieldpath.Set, string, error) {
	taken, version := fieldpath.NewSet(), ""
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range m.entries {
		set, err := decodeFields(entry)
		if err != nil {
			return nil, "", err
		}
		part := within(set, path)
		if !isKind(entry) || part.Empty() {
			kept = append(kept, entry)
			continue
		}
		taken, version = taken.Union(part), entry.APIVersion
		rest := set.Difference(part)
		if rest.Empty() {
			continue
		}
		if entry.FieldsV1, err = encodeFields(rest); err != nil {
			return nil, "", err
		}
		kept = append(kept, entry)
	}
	if !taken.Empty() {
		m.entries, m.changed = kept, true
	}
	return taken, version, nil
}

// add adds fields to the entry of a manager, which it creates if there is none.
func (m *managedFields) add(to metav1.ManagedFieldsEntry, fields *fieldpath.Set) (err error) {
	m.entries = slices.Clone(m.entries)
	m.changed = true
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	at := slices.IndexFunc(m.entries, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == to.Manager && entry.Operation == to.Operation && entry.Subresource == "" &&
			(entry.APIVersion == to.APIVersion || to.Operation == metav1.ManagedFieldsOperationApply)
	})
	if at < 0 {
		to.FieldsType, to.Time = "FieldsV1", &now
		if to.FieldsV1, err = encodeFields(fields); err != nil {
			return err
		}
		m.entries = append(m.entries, to)
		return nil
	}
	entry := &m.entries[at]
	set, err := decodeFields(*entry)
	if err != nil {
		return err
	}
	entry.Time = &now
	entry.FieldsV1, err = encodeFields(set.Union(fields))
	return err
}

// within returns the fields of a set that are the field at a path or parts of it.
func within(set *fieldpath.Set, path ownership.Path) *fieldpath.Set {
	steps, found := path.Steps(), fieldpath.NewSet()
	set.Iterate(func(p fieldpath.Path) {
		if len(p) < len(steps) {
			return
		}
		for i, step := range steps {
			if !isElement(p[i], step) {
				return
			}
		}
		found.Insert(p.Copy())
	})
	return found
}

// isElement reports whether an element of managed fields is the value that a step names. The
// two may identify an item by different keys; then those count that both have.
func isElement(element fieldpath.PathElement, step value.Step) bool {
	switch {
	case element.FieldName != nil:
		return step.Kind == value.Name && *element.FieldName == step.Name
	case element.Value != nil:
		return step.Kind == value.Member && value.Applied.Equal((*element.Value).Unstructured(), step.Value)
	case element.Key == nil || step.Kind != value.Item:
		return false
	}
	item, _ := step.Value.(map[string]any)
	for _, key := range *element.Key {
		if v, ok := item[key.Name]; ok && !value.Applied.Equal(key.Value.Unstructured(), v) {
			return false
		}
	}
	return true
}

func decodeFields(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", entry.Manager, err)
	}
	return set, nil
}

func encodeFields(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encode managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(text)), nil
}
