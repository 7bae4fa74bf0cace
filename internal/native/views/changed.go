package views

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Bare returns a copy of an object without the status and the fields of the metadata that the server sets at each write: managed fields,
// generation and resourceVersion. It shares no values with the object.
func Bare(obj runtime.Object) runtime.Object {
	copied, _ := bare(obj).Interface().(runtime.Object)
	return copied.DeepCopyObject()
}

// bare is Bare, and shares values with the object.
func bare(obj runtime.Object) reflect.Value {
	copied := shallowCopy(obj)
	if status := copied.Elem().FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	if accessor, err := meta.Accessor(copied.Interface()); err == nil {
		accessor.SetManagedFields(nil)
		accessor.SetGeneration(0)
		accessor.SetResourceVersion("")
	}
	return copied
}

// Changed returns the content of a bare object and of its update without the fields that are equal in both. The objects have the same type.
// Unlike Differing, it has all metadata that differs, and nothing that is equal, and of a large map of texts only the entries that differ.
// Package fieldhistory finds the same changes between the two as between the whole contents, in much less time.
func Changed(old, updated runtime.Object) (before, after map[string]any, err error) {
	x, y := reflect.ValueOf(old).Elem(), bare(updated).Elem()
	before, after = map[string]any{}, map[string]any{}
	for _, field := range value.TypeReflectEntryOf(x.Type()).OrderedFields() {
		if field.JsonName == "apiVersion" || field.JsonName == "kind" {
			continue
		}
		if err := change(field, places{x, before}, places{y, after}); err != nil {
			return nil, nil, err
		}
	}
	return before, after, nil
}

// change is differ for Changed.
func change(field *value.FieldCacheEntry, a, b places) error {
	x, y := field.GetFrom(a.from), field.GetFrom(b.from)
	if same(x, y) {
		return nil
	}
	if inX, inY, ok := both(x, y); ok && !field.CanOmit(x) && !field.CanOmit(y) {
		before, after := map[string]any{}, map[string]any{}
		a.to[field.JsonName], b.to[field.JsonName] = before, after
		for _, below := range value.TypeReflectEntryOf(inX.Type()).OrderedFields() {
			if err := change(below, places{inX, before}, places{inY, after}); err != nil {
				return err
			}
		}
		return nil
	}
	if before, after, ok := changedTexts(x, y); ok {
		a.to[field.JsonName], b.to[field.JsonName] = before, after
		return nil
	}
	if err := put(field, x, a.to); err != nil {
		return err
	}
	return put(field, y, b.to)
}

// maxPlain is the longest key of an entry that changedTexts returns alone.
const maxPlain = 253

// changedTexts returns the entries of two maps of texts that differ. ok is false if the values are no such maps, if one is empty, or if
// such a key is so unusual that history takes the map as one value.
func changedTexts(x, y reflect.Value) (before, after map[string]any, ok bool) {
	old, okX := asTexts(x)
	updated, okY := asTexts(y)
	if !okX || !okY || len(old) == 0 || len(updated) == 0 {
		return nil, nil, false
	}
	before, after = map[string]any{}, map[string]any{}
	for key, text := range old {
		if other, ok := updated[key]; !ok || other != text {
			before[key] = text
		}
	}
	for key, text := range updated {
		if other, ok := old[key]; !ok || other != text {
			after[key] = text
		}
	}
	for _, entries := range []map[string]any{before, after} {
		for key := range entries {
			if len(key) > maxPlain || strings.IndexFunc(key, isUnusual) >= 0 {
				return nil, nil, false
			}
		}
	}
	return before, after, true
}

// isUnusual reports whether a character is not one of those in names of Kubernetes.
func isUnusual(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.', r == '/':
		return false
	}
	return true
}
