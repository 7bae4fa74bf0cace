package guard

import (
	"testing"

	"github.com/google/cel-go/cel"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// A server-side apply of a custom resource that removes the last annotation sends an object in which annotations are null. The API
// server refuses every write for which a condition cannot be evaluated.
func TestConditionsOfNull(t *testing.T) {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, expression, key string
	}{
		{"kept", isKept("object") + " || " + isKept("oldObject"), keep.Annotation},
		{"applied", isApplied().Expression, ownership.LastApplied},
	} {
		parsed, issues := env.Compile(test.expression)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(parsed)
		if err != nil {
			t.Fatal(err)
		}
		with := "{metadata: {annotations: {" + test.key + ": always}}}"
		for object, want := range map[string]bool{
			"{metadata: {annotations: null, managedFields: null}}": false, "{metadata: {}}": false, with: true,
		} {
			got, _, err := program.Eval(map[string]any{
				"object": yamltest.Map(t, object), "oldObject": yamltest.Map(t, "{metadata: {annotations: null}}"), "request": map[string]any{},
			})
			if err != nil || got.Value() != want {
				t.Errorf("%s of %s: %v, %v, want %t", test.name, object, got, err, want)
			}
		}
	}
}
