package custom

import (
	"maps"

	"holdfast.dev/holdfast/value"
)

// patchValues returns the stored object with the values of a merge patch, if the patch only replaces scalars. It returns false
// for all other patches, also for invalid ones. The library encodes the stored object, patches the text, and decodes it.
func (v *version) patchValues(live *object, text []byte) (*object, bool) {
	patch, ok := v.decodeValidJSON(text)
	if !ok || live.unseen != nil || !keepsIdentity(live.Object, patch) {
		return nil, false
	}
	patched, ok := patchedValues(live.Object, patch)
	if !ok {
		return nil, false
	}
	out := objectOf(share(patched))
	out.sets = live.sets
	return out, true
}

// keepsIdentity reports whether a patch changes no metadata but the labels, the annotations and the resource version. The library
// checks the others.
func keepsIdentity(live, patch map[string]any) bool {
	stored, _ := live["metadata"].(map[string]any)
	metadata, isObject := patch["metadata"].(map[string]any)
	if _, ok := patch["metadata"]; ok && !isObject {
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
			if !value.Identical(v, stored[key]) {
				return false
			}
		}
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if v, ok := patch[key]; ok && v != live[key] {
			return false
		}
	}
	return true
}

// patchedValues returns an object with the values of a patch. It shares all other values with the object.
func patchedValues(live, patch map[string]any) (map[string]any, bool) {
	out := maps.Clone(live)
	for key, v := range patch {
		stored, isStored := live[key]
		if !isStored {
			return nil, false
		}
		switch v := v.(type) {
		case map[string]any:
			below, isObject := stored.(map[string]any)
			if !isObject {
				return nil, false
			}
			patched, ok := patchedValues(below, v)
			if !ok {
				return nil, false
			}
			out[key] = patched
		case string, bool, int64, float64:
			if !haveSameType(stored, v) {
				return nil, false
			}
			out[key] = v
		default:
			return nil, false
		}
	}
	return out, true
}
