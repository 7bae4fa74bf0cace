package definition_test

import (
	"fmt"
	"testing"

	"holdfast.dev/holdfast/internal/definition"
)

// Lists with equal items are refused, whatever the items are, and however long the list is.
func TestKeyedLists(t *testing.T) {
	c := compiled(t, read(t, widgets(`{type: object, properties: {
		set: {type: array, x-kubernetes-list-type: set, items: {x-kubernetes-int-or-string: true}},
		two: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l],
			items: {type: object, required: [k, l], properties: {k: {type: string}, l: {type: integer}}}},
		any: {type: object, additionalProperties: {type: array, items: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}}}`)))
	long := func(last string) []any {
		var list []any
		for i := range 40 {
			list = append(list, fmt.Sprint(i))
		}
		return append(list, last)
	}
	two := func(k string, l int64) map[string]any { return map[string]any{"k": k, "l": l} }
	tests := map[string]struct {
		obj   map[string]any
		valid bool
	}{
		"no lists":                 {map[string]any{}, true},
		"a text and a number":      {map[string]any{"set": []any{"1", int64(1)}}, true},
		"equal numbers":            {map[string]any{"set": []any{"1", int64(1), int64(1)}}, false},
		"a long list":              {map[string]any{"set": long("x")}, true},
		"a long list, equal items": {map[string]any{"set": long("7")}, false},
		"different second keys":    {map[string]any{"two": []any{two("a", 1), two("a", 2)}}, true},
		"equal keys":               {map[string]any{"two": []any{two("a", 1), two("b", 1), two("a", 1)}}, false},
		"different first keys":     {map[string]any{"two": []any{two("a", 1), two("b", 1)}}, true},
		"a list in a list":         {map[string]any{"any": map[string]any{"x": []any{[]any{"a"}, []any{"a", "b"}}}}, true},
		"equal items below":        {map[string]any{"any": map[string]any{"x": []any{[]any{"a"}, []any{"b", "b"}}}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			errs, valid := c.ValidateStored(t.Context(), test.obj, definition.Stored{})
			if valid != test.valid || (len(errs) == 0) != test.valid {
				t.Errorf("valid is %v, errors are %v", valid, errs)
			}
		})
	}
}
