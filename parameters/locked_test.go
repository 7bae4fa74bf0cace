package parameters_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/parameters"
)

// TestLocked checks that Locked returns the parameters for which Update refuses another value.
func TestLocked(t *testing.T) {
	text := "a"
	version := &parameters.Version{Name: "app-0.1.0", Operator: "app", Version: "0.1.0", Plans: []string{"deploy"}}
	version.Definitions = []parameters.Definition{
		{Name: "FREE", Default: &text},
		{Name: "FIXED", Default: &text, Immutable: true},
		{Name: "OPTIONAL", Immutable: true},
		{Name: "NEEDED", Required: true, Immutable: true},
		{Name: "LIST", Type: parameters.Array, Required: true, Immutable: true},
	}
	for name, test := range map[string]struct {
		stored map[string]string
		want   []string
	}{
		"all have values": {
			map[string]string{"FREE": "b", "FIXED": "b", "OPTIONAL": "b", "NEEDED": "b", "LIST": "[b]"},
			[]string{"FIXED", "OPTIONAL", "NEEDED", "LIST"},
		},
		"none has a value": {nil, []string{"FIXED", "OPTIONAL", "LIST"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, version.Locked(test.stored)); diff != "" {
				t.Errorf("locked (-want +got):\n%s", diff)
			}
			var refused []string
			for _, definition := range version.Definitions {
				wanted := map[string]string{definition.Name: "[c]"}
				for name, value := range test.stored {
					if name != definition.Name {
						wanted[name] = value
					}
				}
				decision := parameters.Update(version, parameters.Request{Stored: test.stored, Wanted: wanted})
				if !decision.Accepted() {
					refused = append(refused, definition.Name)
				}
			}
			if diff := cmp.Diff(test.want, refused); diff != "" {
				t.Errorf("updates that are refused (-want +got):\n%s", diff)
			}
		})
	}
}
