package definition_test

import (
	"maps"
	"testing"

	"holdfast.dev/holdfast/internal/definition"
)

const storedSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      count: {type: integer, x-kubernetes-validations: [{rule: self > oldSelf, message: must grow}]}
      names:
        type: array
        maxItems: 100
        x-kubernetes-list-type: set
        items: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: self != 'root', message: not root}]}
      note: {type: string}`

// An update of an object that is valid needs no work for what it leaves unchanged. A rule about changes runs all the same.
func TestValidateStored(t *testing.T) {
	versions, err := definition.Compile(read(t, widgets(storedSchema)))
	if err != nil {
		t.Fatal(err)
	}
	c := versions["v1"]
	names := []any{}
	for i := range 50 {
		names = append(names, "name"+string(rune('0'+i)))
	}
	spec := map[string]any{"count": int64(1), "names": names, "note": "a"}
	stored := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": spec}
	errs, valid := c.ValidateStored(t.Context(), stored, definition.Stored{})
	if len(errs) > 0 || !valid {
		t.Fatalf("create: %v, valid %t", errs, valid)
	}
	with := func(field string, v any) map[string]any {
		out, changed := maps.Clone(stored), maps.Clone(spec)
		changed["count"], changed[field] = int64(2), v
		out["spec"] = changed
		return out
	}
	known := definition.Stored{Object: stored, Valid: true}
	if errs, valid := c.ValidateStored(t.Context(), with("note", "b"), known); len(errs) > 0 || !valid {
		t.Errorf("another note: %v, valid %t", errs, valid)
	}
	for what, obj := range map[string]map[string]any{
		"the count stays":        with("count", int64(1)),
		"a name that is refused": with("names", []any{"root"}),
		"a name twice":           with("names", []any{"x", "x"}),
		"a wrong type":           with("note", int64(7)),
	} {
		if errs, valid := c.ValidateStored(t.Context(), obj, known); len(errs) == 0 || valid {
			t.Errorf("%s: %v, valid %t", what, errs, valid)
		}
	}
	cost := func(old definition.Stored) float64 {
		return testing.AllocsPerRun(10, func() { c.ValidateStored(t.Context(), with("note", "b"), old) })
	}
	if few, many := cost(known), cost(definition.Stored{Object: stored}); few > many/4 {
		t.Errorf("%.0f allocations if the stored object is valid, %.0f if nothing is known", few, many)
	}
}
