package live

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/value"
)

// changes returns the fields in which two objects differ, without metadata that only the server
// writes. It hides the values of a Secret.
func changes(oldObj, newObj map[string]any) []plan.Change {
	found := differences(bare(oldObj), bare(newObj), nil)
	for i := range found {
		found[i].Hidden = oldObj["kind"] == "Secret" && oldObj["apiVersion"] == "v1"
	}
	return found
}

// bare returns a copy of an object without metadata that only the server writes, and without
// the last-applied configuration, which is about the object itself.
func bare(object map[string]any) map[string]any {
	out := maps.Clone(object)
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return out
	}
	metadata = maps.Clone(metadata)
	for _, name := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"selfLink", "managedFields",
	} {
		delete(metadata, name)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		metadata["annotations"] = annotations
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	out["metadata"] = metadata
	return out
}

// differences returns the innermost fields in which two values differ. Lists of different
// lengths differ as a whole.
func differences(oldValue, newValue any, path *value.Path) []plan.Change {
	if reflect.DeepEqual(oldValue, newValue) {
		return nil
	}
	switch oldValue := oldValue.(type) {
	case map[string]any:
		newMap, ok := newValue.(map[string]any)
		if !ok {
			break
		}
		var found []plan.Change
		names := maps.Clone(oldValue)
		maps.Copy(names, newMap)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			found = append(found, differences(valueAt(oldValue, name), valueAt(newMap, name), path.Child(name))...)
		}
		return found
	case []any:
		newList, ok := newValue.([]any)
		if !ok || len(oldValue) != len(newList) {
			break
		}
		var found []plan.Change
		for i := range oldValue {
			found = append(found, differences(oldValue[i], newList[i], path.Index(i))...)
		}
		return found
	}
	return []plan.Change{{Path: path.String(), Old: oldValue, New: newValue}}
}

func valueAt(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return value.Absent{}
}
