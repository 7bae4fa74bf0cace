package immutability_test

import (
	"fmt"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

func Example() {
	s, _, err := schema.Decode(map[string]any{"properties": map[string]any{
		"size": map[string]any{"type": "string", "x-kubernetes-immutable": true},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := immutability.Compile(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range policy.Check(map[string]any{"size": "10Gi"}, map[string]any{"size": "20Gi"}) {
		fmt.Println(v)
		fmt.Println(v.Hint())
	}
	// Output:
	// size: field is immutable: changed from "10Gi" to "20Gi"
	// it is fixed since it was set: keep the old value, or create a new object
}

func ExampleDeclare() {
	policy, err := immutability.Declare([]immutability.Rule{
		{Path: "spec", Marker: immutability.Immutable},
		{Path: "spec.containers[*].image"},
		{Path: "spec.tolerations", Marker: immutability.AdditionOnly, Keys: []string{"key", "operator", "value", "effect"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	oldObj := map[string]any{"spec": map[string]any{"nodeName": "a", "containers": []any{map[string]any{"image": "web:1"}}}}
	newObj := map[string]any{"spec": map[string]any{"nodeName": "b", "containers": []any{map[string]any{"image": "web:2"}}}}
	for _, v := range policy.Check(oldObj, newObj) {
		fmt.Println(v)
	}
	// Output:
	// spec.nodeName: field is immutable: changed from "a" to "b"
}
