package managers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// Within returns the fields of a set that are the field at a path or parts of it.
func Within(set *fieldpath.Set, path ownership.Path) *fieldpath.Set {
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

// within returns the part of the entries of a kind that is at a path, for Take.
func within(path ownership.Path, isKind func(metav1.ManagedFieldsEntry) bool) func(metav1.ManagedFieldsEntry, *fieldpath.Set) *fieldpath.Set {
	return func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) *fieldpath.Set {
		if !isKind(entry) {
			return nil
		}
		return Within(set, path)
	}
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
