package fields

import (
	"fmt"
	"testing"
)

// TestCrowdedManagers checks that the library handles an object with too many managers: it merges the oldest of more than
// ten updaters, and the work of managersOf grows with the square of their number.
func TestCrowdedManagers(t *testing.T) {
	t.Parallel()
	const apiVersion = "example.com/v1"
	cases := map[string]struct {
		appliers, updaters int
		want               bool
	}{
		"ten updaters":     {0, 10, true},
		"eleven updaters":  {0, 11, false},
		"many appliers":    {22, 10, true},
		"too many of both": {23, 10, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var entries []any
			for i := range test.appliers + test.updaters {
				operation := "Apply"
				if i >= test.appliers {
					operation = "Update"
				}
				entries = append(entries, map[string]any{
					"manager": fmt.Sprintf("m%02d", i), "operation": operation, "apiVersion": apiVersion, "time": "2020-01-01T00:00:00Z",
					"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}},
				})
			}
			obj := map[string]any{"metadata": map[string]any{"managedFields": entries}}
			last := writer{manager: fmt.Sprintf("m%02d", len(entries)-1), operation: updates}
			if _, got := managersOf(obj, apiVersion, last); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
