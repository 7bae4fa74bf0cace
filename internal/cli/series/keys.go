package series

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/value"
)

// keysOf returns the keys of the content of a ConfigMap or a Secret.
func keysOf(object *unstructured.Unstructured) []string {
	keys := map[string]bool{}
	for _, field := range []string{"data", "binaryData"} {
		content, _ := object.Object[field].(map[string]any)
		for key := range content {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// missingKeys returns the keys that the references of an edit need and that the member does not have. Pods with such a reference do not start.
func (e *edit) missingKeys(have []string) []string {
	var missing []string
	for _, c := range e.changes {
		for _, key := range neededKeys(e.live.Object, c.path) {
			if !slices.Contains(have, key) && !slices.Contains(missing, key) {
				missing = append(missing, key)
			}
		}
	}
	return missing
}

// neededKeys returns the keys that a reference needs: key in env, and those of the items of a volume.
func neededKeys(object map[string]any, name *value.Path) []string {
	var around any = object
	for _, step := range name.Parent().Steps() {
		switch now := around.(type) {
		case map[string]any:
			around = now[step.Name]
		case []any:
			around = now[step.Index]
		}
	}
	fields, _ := around.(map[string]any)
	if optional, _ := fields["optional"].(bool); optional {
		return nil
	}
	var needed []string
	if key, isText := fields["key"].(string); isText && key != "" {
		needed = append(needed, key)
	}
	items, _ := fields["items"].([]any)
	for _, item := range items {
		entry, _ := item.(map[string]any)
		if key, isText := entry["key"].(string); isText && key != "" {
			needed = append(needed, key)
		}
	}
	return needed
}
