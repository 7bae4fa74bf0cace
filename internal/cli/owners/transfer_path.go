package owners

import (
	"slices"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// canBeOwned reports whether apply sets a field: not the type and the status, and of the
// metadata only labels, annotations, finalizers and owner references.
func canBeOwned(path ownership.Path) bool {
	steps := path.Steps()
	switch steps[0].Name {
	case "apiVersion", "kind", "status":
		return false
	case "metadata":
		return len(steps) > 1 && slices.Contains([]string{"labels", "annotations", "finalizers", "ownerReferences"}, steps[1].Name)
	}
	return true
}

// isWithin reports whether a path is the other one or names a place inside of it.
func isWithin(path, other ownership.Path) bool {
	steps, outer := path.Steps(), other.Steps()
	if len(steps) < len(outer) {
		return false
	}
	for i, step := range outer {
		if step.Kind != steps[i].Kind || step.Kind == value.Item && !isNamed(steps[i].Value, step) ||
			step.Kind != value.Item && !step.Equal(steps[i]) {
			return false
		}
	}
	return true
}

// isNamed reports whether a step names an item of a list. It ignores keys that the item does
// not have: a configuration may leave out keys with defaults.
func isNamed(item any, step value.Step) bool {
	if step.Kind == value.Member {
		return value.Applied.Equal(item, step.Value)
	}
	object, isObject := item.(map[string]any)
	like, _ := step.Value.(map[string]any)
	if !isObject || step.Kind != value.Item {
		return false
	}
	return !slices.ContainsFunc(step.Keys, func(key string) bool {
		v, found := object[key]
		return found && !value.Applied.Equal(v, like[key])
	})
}
