package instance

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// changedFields returns the paths of the fields that differ between two forms of an
// Instance, among those that admission decides about. An empty field equals an absent
// one.
func changedFields(before, after *unstructured.Unstructured) [][]string {
	var all [][]string
	for _, path := range [][]string{{"metadata", "annotations"}, {"spec", "parameters"}, {"spec", "planExecution"}} {
		old, now := content(before, path), content(after, path)
		if (len(old) > 0 || len(now) > 0) && !apiequality.Semantic.DeepEqual(old, now) {
			all = append(all, path)
		}
	}
	return all
}

// patch returns the operations that turn before into after. In a JSON patch, adding a
// field that exists replaces it.
func patch(before, after *unstructured.Unstructured) []Operation {
	var all []Operation
	for _, path := range changedFields(before, after) {
		at := "/" + path[0] + "/" + path[1]
		if now := content(after, path); len(now) > 0 {
			all = append(all, Operation{Op: "add", Path: at, Value: now})
		} else {
			all = append(all, Operation{Op: "remove", Path: at})
		}
	}
	return all
}

// content returns the object at a path of two names, nil if there is none.
func content(obj *unstructured.Unstructured, path []string) map[string]any {
	parent, _ := obj.Object[path[0]].(map[string]any)
	found, _ := parent[path[1]].(map[string]any)
	return found
}
