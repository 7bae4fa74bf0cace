package immutability_test

import (
	"testing"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// Kubernetes publishes the default "" for fields, and also for the values of maps. A field with the zero value is unset; a key with it
// exists.
func TestZeroOfBuiltInKinds(t *testing.T) {
	t.Parallel()
	text := map[string]any{"type": "string", "default": ""}
	s, _, err := schema.Decode(map[string]any{"type": "object", "properties": map[string]any{
		"reason": text, "data": map[string]any{"type": "object", "additionalProperties": text},
	}})
	if err != nil {
		t.Fatal(err)
	}
	marks, err := immutability.ParseMarks("no-modify reason\nno-modify data.*")
	if err != nil {
		t.Fatal(err)
	}
	marked := immutability.AddMarks(s, "v1", marks)
	policy, err := immutability.CompileBuiltIn(marked.Schema, marked.Layers...)
	if err != nil {
		t.Fatal(err)
	}
	of := func(value string) map[string]any {
		return map[string]any{"reason": value, "data": map[string]any{"a": value}}
	}
	found := policy.Check(of("x"), of(""))
	if len(found) != 1 || found[0].Path.String() != "data.a" {
		t.Errorf("found %v, want a change of data.a", found)
	}
}
