package skeleton_test

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

func Example() {
	s, _, err := schema.Decode(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"spec": map[string]any{
				"properties": map[string]any{"replicas": map[string]any{"type": "integer"}},
				"anyOf":      []any{map[string]any{"properties": map[string]any{"image": map[string]any{"type": "string"}}}},
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sk := skeleton.Build(s)
	obj := map[string]any{"spec": map[string]any{"replicas": "3", "image": "nginx", "imege": "nginx"}}
	for _, wrong := range sk.Check(obj) {
		fmt.Println(wrong)
	}
	fmt.Println("dropped:", sk.PrunePaths(obj))
	// Output:
	// spec.replicas: must be of type integer, not string
	// dropped: [spec.imege]
}
