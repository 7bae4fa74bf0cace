package fieldhistory

import "maps"

// Content returns the part of an object that history has.
func Content(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	for _, name := range []string{"apiVersion", "kind", "status"} {
		delete(out, name)
	}
	if metadata, ok := out["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, name)
		}
		out["metadata"] = metadata
	}
	return out
}
