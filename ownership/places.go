package ownership

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// place returns a copy of a value with another value at a path. It makes the
// objects and lists on the way that are not there.
func place(in any, path []value.Step, placed any) any {
	if len(path) == 0 {
		return placed
	}
	step := path[0]
	if step.Kind == value.Name {
		object, _ := in.(map[string]any)
		object = maps.Clone(object)
		if object == nil {
			object = map[string]any{}
		}
		object[step.Name] = place(object[step.Name], path[1:], placed)
		return object
	}
	list, _ := in.([]any)
	list = slices.Clone(list)
	if i := indexOf(list, step); i >= 0 {
		list[i] = place(list[i], path[1:], placed)
		return list
	}
	if step.Kind == value.Member {
		return append(list, step.Value)
	}
	item, like := map[string]any{}, step.Value.(map[string]any)
	for _, key := range step.Keys {
		item[key] = like[key]
	}
	return append(list, place(item, path[1:], placed))
}

// drop returns a copy of a value without the value at a path.
func drop(in any, path []value.Step) any {
	step := path[0]
	if step.Kind == value.Name {
		object, ok := in.(map[string]any)
		if !ok {
			return in
		}
		object = maps.Clone(object)
		if len(path) == 1 {
			delete(object, step.Name)
		} else {
			object[step.Name] = drop(object[step.Name], path[1:])
		}
		return object
	}
	list, _ := in.([]any)
	i := indexOf(list, step)
	if i < 0 {
		return in
	}
	list = slices.Clone(list)
	if len(path) == 1 {
		return slices.Delete(list, i, i+1)
	}
	list[i] = drop(list[i], path[1:])
	return list
}

// indexOf returns the index of the item that a step names, or -1.
func indexOf(list []any, step value.Step) int {
	return slices.IndexFunc(list, func(item any) bool { return isNamed(item, step) })
}

// isNamed reports whether a step names an item of a list. At least one key must be equal, and
// none may differ. An applied configuration may leave out keys with defaults: a missing key
// counts as equal if the step has its zero value, and is ignored otherwise.
func isNamed(item any, step value.Step) bool {
	if step.Kind == value.Member {
		return equal(item, step.Value)
	}
	object, ok := item.(map[string]any)
	if !ok || step.Kind != value.Item {
		return false
	}
	like, _ := step.Value.(map[string]any)
	isSame := false
	for _, key := range step.Keys {
		switch v, wanted := field(object, key), field(like, key); {
		case equal(v, wanted) || isAbsent(v) && isZero(wanted):
			isSame = true
		case !isAbsent(v):
			return false
		}
	}
	return isSame
}

// isIn reports whether a value has a field at a path, also as null.
func isIn(v any, path []value.Step) bool {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			below, ok := at[step.Name]
			if !ok || step.Kind != value.Name {
				return false
			}
			v = below
		case []any:
			i := indexOf(at, step)
			if i < 0 {
				return false
			}
			v = at[i]
		default:
			return false
		}
	}
	return true
}
