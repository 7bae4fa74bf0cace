package enforcement

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// differing are the fields, of those that admission decides about, that two forms
// of an Instance do not have in common. A field without content is as good as none.
func differing(before, after *unstructured.Unstructured) [][]string {
	var all [][]string
	for _, path := range [][]string{{"metadata", "annotations"}, {"spec", "parameters"}, {"spec", "planExecution"}} {
		old, now := content(before, path), content(after, path)
		if (len(old) > 0 || len(now) > 0) && !apiequality.Semantic.DeepEqual(old, now) {
			all = append(all, path)
		}
	}
	return all
}

// patch makes after of before. To add a field that is there is to replace it.
func patch(before, after *unstructured.Unstructured) []operation {
	var all []operation
	for _, path := range differing(before, after) {
		at := "/" + path[0] + "/" + path[1]
		if now := content(after, path); len(now) > 0 {
			all = append(all, operation{Op: "add", Path: at, Value: now})
		} else {
			all = append(all, operation{Op: "remove", Path: at})
		}
	}
	return all
}

func content(obj *unstructured.Unstructured, path []string) map[string]any {
	parent, _ := obj.Object[path[0]].(map[string]any)
	found, _ := parent[path[1]].(map[string]any)
	return found
}
