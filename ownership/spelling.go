package ownership

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// writtenAs returns the path of the field in a configuration that becomes the field at
// another path of the canonical form, nil if there is none.
func (t *Type) writtenAs(config, canonical map[string]any, path []value.Step) []value.Step {
	if !t.BuiltIn {
		return nil
	}
	candidates := renamed(config, canonical, nil)
	// A conversion keeps the names of keys, so that such candidates come first.
	rank := func(candidate []value.Step) int {
		if candidate[len(candidate)-1].Equal(path[len(path)-1]) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(candidates, func(a, b []value.Step) int { return cmp.Compare(rank(a), rank(b)) })
	for _, candidate := range candidates {
		text, err := write(drop(config, candidate))
		if err == nil && !t.owns(text, path) {
			return candidate
		}
	}
	return nil
}

// renamed returns the paths of the fields of a configuration that its canonical form does
// not have.
func renamed(config, canonical map[string]any, path []value.Step) [][]value.Step {
	var out [][]value.Step
	for _, name := range slices.Sorted(maps.Keys(config)) {
		at := slices.Concat(path, []value.Step{nameStep(name)})
		object, isObject := config[name].(map[string]any)
		below, _ := canonical[name].(map[string]any)
		if _, ok := canonical[name]; !ok && len(path) > 0 || !ok && isObject {
			out = append(out, at)
		}
		if isObject {
			out = append(out, renamed(object, below, at)...)
		}
	}
	return out
}

// otherVersion returns the error about a field that a configuration has in another form.
func otherVersion(config map[string]any, path Path) error {
	return fmt.Errorf("field %s: the last-applied configuration has it in another form, in version %v: "+
		"apply the file in the version that the server stores, then transfer the field", path, config["apiVersion"])
}
