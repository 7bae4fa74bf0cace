package schema_test

import (
	"fmt"

	"holdfast.dev/holdfast/schema"
)

func ExampleDecode() {
	s, unknown, err := schema.Decode(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"size": map[string]any{"type": "string", "x-kubernetes-immutable": true, "colour": "red"},
		},
	})
	if err != nil {
		panic(err)
	}
	for _, key := range unknown {
		fmt.Println("no keyword:", key)
	}
	schema.Walk(s, func(v *schema.Visit) bool {
		if schema.IsTrue(v.Schema.Immutable) {
			fmt.Println("immutable:", v.Path)
		}
		return true
	})
	// Output:
	// no keyword: properties[size].colour
	// immutable: properties[size]
}
