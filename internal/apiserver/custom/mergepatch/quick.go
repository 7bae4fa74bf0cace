package mergepatch

import (
	"bytes"
	"maps"
	"reflect"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/value"
)

// largest is the size of the largest patch that Quick decodes.
const largest = 64 << 10

// Quick is the quick form of a Patcher. It makes patches that only replace scalars, and calls the library for all others.
type Quick struct {
	library Patcher
	format  text.Format
	// conforms reports whether a patch that keeps all types lets an object conform. Normalization and embedded resources look at values.
	conforms bool
}

var _ Patcher = &Quick{}

func newQuick(v *kind.Version, format text.Format) *Quick {
	conforms := !v.Compiled.Skeleton.Normalizes() && !v.Compiled.Embeds()
	return &Quick{library: Library{format}, format: format, conforms: conforms}
}

// Patch implements Patcher.
func (q *Quick) Patch(stored *object.Object, patch []byte) (Result, error) {
	if patched, ok := q.patched(stored, patch); ok {
		return Result{Object: patched}, nil
	}
	return q.library.Patch(stored, patch)
}

// patched returns the stored object with the values of a patch.
func (q *Quick) patched(stored *object.Object, text []byte) (*object.Object, bool) {
	if !q.conforms || stored.Unseen != nil || len(text) > largest || !bytes.HasPrefix(text, []byte("{")) {
		return nil, false
	}
	patch, duplicates, err := q.format.DecodeStrict(text)
	if err != nil || len(duplicates) > 0 || !keepsIdentity(stored.Object, patch) {
		return nil, false
	}
	content, ok := patchedValues(stored.Object, patch)
	if !ok {
		return nil, false
	}
	out := object.Of(object.Share(content))
	out.Sets = stored.Sets
	return out, true
}

// keepsIdentity reports whether a patch changes no metadata but the labels, the annotations and the resource version. The library
// checks the others.
func keepsIdentity(stored, patch map[string]any) bool {
	before, _ := stored["metadata"].(map[string]any)
	metadata, isObject := patch["metadata"].(map[string]any)
	if _, ok := patch["metadata"]; ok && !isObject || hasEmpty(before) {
		return false
	}
	for key, v := range metadata {
		switch key {
		case "labels", "annotations":
		case "resourceVersion":
			if v == "" {
				return false // the library removes the field
			}
		default:
			if !value.Identical(v, before[key]) {
				return false
			}
		}
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if v, ok := patch[key]; ok && v != stored[key] {
			return false
		}
	}
	return true
}

// hasEmpty reports whether a metadata has an empty field. An apply can store such a field, and the library removes it when it decodes the
// patched object.
func hasEmpty(metadata map[string]any) bool {
	for _, v := range metadata {
		switch v := v.(type) {
		case string:
			if v == "" {
				return true
			}
		case []any:
			if len(v) == 0 {
				return true
			}
		case map[string]any:
			if len(v) == 0 {
				return true
			}
		}
	}
	return false
}

// patchedValues returns an object with the values of a patch. It shares all other values with the object.
func patchedValues(stored, patch map[string]any) (map[string]any, bool) {
	out := maps.Clone(stored)
	for key, v := range patch {
		before, isStored := stored[key]
		if !isStored {
			return nil, false
		}
		switch v := v.(type) {
		case map[string]any:
			below, isObject := before.(map[string]any)
			if !isObject {
				return nil, false
			}
			patched, ok := patchedValues(below, v)
			if !ok {
				return nil, false
			}
			out[key] = patched
		case string, bool, int64, float64:
			if !haveSameType(before, v) {
				return nil, false
			}
			out[key] = v
		default:
			return nil, false
		}
	}
	return out, true
}

// haveSameType reports whether two values are scalars of one type.
func haveSameType(a, b any) bool {
	switch a.(type) {
	case string, bool, int64, float64:
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
	return false
}
