package definition_test

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast.dev/holdfast/internal/definition"
)

func Example() {
	crd := &definition.CustomResourceDefinition{}
	text := `{
		"metadata": {"name": "widgets.example.com"},
		"spec": {
			"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
			"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
				"properties": {"size": {"type": "integer", "maximum": 9, "x-kubernetes-immutable": true}}
			}}}]
		}
	}`
	if err := json.Unmarshal([]byte(text), crd); err != nil {
		fmt.Println(err)
		return
	}
	definition.SetDefaults(crd)

	w := definition.Write{APIVersion: definition.V1}
	w.Prepare(crd)
	fmt.Println("refused for:", w.Validate(context.Background(), crd))

	versions, err := definition.Compile(crd)
	if err != nil {
		fmt.Println(err)
		return
	}
	widget := versions["v1"]
	oldObj := map[string]any{"size": int64(5)}
	newObj := map[string]any{"size": int64(12), "colour": "red"}
	fmt.Println("pruned:", widget.Skeleton.PrunePaths(newObj))
	fmt.Println("immutable:", widget.Policy.Check(oldObj, newObj))
	fmt.Println("invalid:", widget.Validate(context.Background(), newObj, oldObj))
	// Output:
	// refused for: []
	// pruned: [colour]
	// immutable: [size: field is immutable: changed from 5 to 12]
	// invalid: [size: Invalid value: 12: size in body should be less than or equal to 9]
}
