package write

import (
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/value"
)

// keepTimes restores the managed fields of the old object if the new object differs from it in their times only. Nothing is stored then,
// as in Kubernetes. The field manager sets the time of a configuration that it merges before defaults make the object equal to the old one.
func keepTimes(obj, old *object.Object) {
	if old == nil {
		return
	}
	entries, stored := listIn(obj, "managedFields"), listIn(old, "managedFields")
	if len(entries) == 0 || len(entries) != len(stored) || value.SameList(entries, stored) {
		return
	}
	for _, entry := range entries {
		if !hasEntry(stored, entry) {
			return
		}
	}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata["managedFields"] = stored
	if !value.Identical(obj.Object, old.Object) {
		metadata["managedFields"] = entries
	}
}

// hasEntry reports whether a list has an entry of managed fields with any time. An object has one entry of a manager, operation, version
// and subresource.
func hasEntry(entries []any, entry any) bool {
	wanted, _ := entry.(map[string]any)
	for _, item := range entries {
		other, _ := item.(map[string]any)
		if len(other) == len(wanted) && equalButTime(other, wanted) {
			return true
		}
	}
	return false
}

func equalButTime(a, b map[string]any) bool {
	for key, v := range a {
		if other, ok := b[key]; !ok || key != "time" && !value.Identical(v, other) {
			return false
		}
	}
	return true
}
