package fields

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// identity are the fields of metadata that identify an object, and serverFields are those that the server sets. No manager owns them.
var (
	identity     = []string{"name", "namespace"}
	serverFields = []string{
		"creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion",
	}
	unownedMetadata = slices.Concat(identity, serverFields)
)

// owned returns the content of an object without the fields that no manager owns after a write to the endpoint. It returns false if the
// object has no metadata.
func (q *Quick) owned(obj map[string]any) (map[string]any, bool) {
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		return nil, false
	}
	metadata = maps.Clone(metadata)
	for _, key := range unownedMetadata {
		delete(metadata, key)
	}
	out := make(map[string]any, len(obj))
	for key, v := range obj {
		if key != "apiVersion" && key != "kind" && q.IsWritten(key) {
			out[key] = v
		}
	}
	if _, written := out["metadata"]; written && len(metadata) > 0 {
		out["metadata"] = metadata
	} else {
		delete(out, "metadata")
	}
	return out, true
}

// isOwnable reports whether a configuration sets only fields that a manager can own. The others, such as the kind and the name, must be
// those of the stored object. A configuration with a field that the server sets is not ownable.
func (q *Quick) isOwnable(stored, applied map[string]any) bool {
	for _, key := range []string{"apiVersion", "kind"} {
		// The library refuses a configuration without them.
		if applied[key] == nil || applied[key] != stored[key] {
			return false
		}
	}
	for key, v := range applied {
		if !q.IsWritten(key) && key != "metadata" && !value.Identical(v, stored[key]) {
			return false
		}
	}
	metadata, _ := applied["metadata"].(map[string]any)
	if !q.IsWritten("metadata") {
		for key := range metadata {
			if !slices.Contains(identity, key) {
				return false
			}
		}
	}
	before, _ := stored["metadata"].(map[string]any)
	for _, key := range identity {
		if v, ok := metadata[key]; ok && !value.Identical(v, before[key]) {
			return false
		}
	}
	return !slices.ContainsFunc(serverFields, func(key string) bool { return has(applied, key) })
}

// has reports whether the metadata of an object has a field.
func has(obj map[string]any, key string) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	_, ok := metadata[key]
	return ok
}
