package immutability_test

import (
	"testing"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A func is not equal to any value, not even to itself. If Check read the shared
// values, it would report a violation.
func TestCheckDoesNotReadSharedValues(t *testing.T) {
	policy := compile(t, `{properties: {
		whole: {x-kubernetes-immutable: true}, list: {x-kubernetes-immutable: true},
		part: {properties: {x: {x-kubernetes-immutable: true}}},
		keys: {x-kubernetes-addition-only: true, additionalProperties: {x-kubernetes-immutable: true}}}}`)
	shared := func() any { return map[string]any{"x": func() {}} }
	oldObj := map[string]any{"whole": shared(), "list": []any{func() {}}, "part": shared(), "keys": shared()}
	newObj := map[string]any{}
	for key, value := range oldObj {
		newObj[key] = value
	}
	if found := policy.Check(oldObj, newObj); len(found) > 0 {
		t.Errorf("%d violations in what old and new share", len(found))
	}
	newObj["whole"] = map[string]any{"x": func() {}}
	if found := policy.Check(oldObj, newObj); len(found) != 1 {
		t.Errorf("%d violations in what they do not", len(found))
	}
}

func TestCheckComparesOnce(t *testing.T) {
	asked := 0
	policy, err := immutability.Declare([]immutability.Rule{
		{Path: "spec", Marker: immutability.Immutable},
		{Path: "spec.a.b.c", Marker: immutability.Immutable, Canonical: func(v any) any { asked++; return v }},
	})
	if err != nil {
		t.Fatal(err)
	}
	const text = `{spec: {a: {b: {c: 1, d: 2}}}}`
	if found := policy.Check(yamltest.Map(t, text), yamltest.Map(t, text)); len(found) > 0 || asked != 2 {
		t.Errorf("violations %v, and each side was asked for %d times", lines(found), asked)
	}
}
