package installation

import (
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Print writes objects in a format for kubectl apply: yaml, one document per object, or json,
// one List.
func Print(out io.Writer, objects []*unstructured.Unstructured, format string) error {
	switch format {
	case "yaml":
		for i, object := range objects {
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
			}
			separator := "---\n"
			if i == 0 {
				separator = ""
			}
			if _, err := fmt.Fprintf(out, "%s%s", separator, text); err != nil {
				return err
			}
		}
		return nil
	case "json":
		items := make([]any, len(objects))
		for i, object := range objects {
			items[i] = object.Object
		}
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	return fmt.Errorf("output %q: must be yaml or json", format)
}
