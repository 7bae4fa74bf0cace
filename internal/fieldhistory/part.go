package fieldhistory

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// At returns the value at a path of a content, value.Absent if there is none. The items of lists are named by keys.
func At(content map[string]any, path *value.Path) any {
	if content == nil {
		return value.Absent{}
	}
	var v any = content
	for _, step := range path.Steps() {
		switch step.Kind {
		case value.Name:
			object, ok := v.(map[string]any)
			if !ok {
				return value.Absent{}
			}
			v = field(object, step.Name)
		default:
			list, _ := v.([]any)
			at := indexOf(list, step)
			if at < 0 {
				return value.Absent{}
			}
			v = list[at]
		}
	}
	return v
}

// indexOf returns the index of the first item that a step names, -1 if there is none.
func indexOf(list []any, step value.Step) int {
	return slices.IndexFunc(list, func(item any) bool { return isNamedBy(step, item) })
}

// isNamedBy reports whether a step names an item of a list. The step may have fewer keys than the list.
func isNamedBy(step value.Step, item any) bool {
	switch step.Kind {
	case value.Member:
		return value.Strict.Equal(step.Value, item)
	case value.Item:
		return len(step.Keys) > 0 && value.Strict.EqualKeys(step.Keys, step.Value, item)
	}
	return false
}

// errNoPlace is the error of With if the object around the field is missing.
var errNoPlace = errors.New("the object does not have the value around it")

// With returns a content in which the value at a path is that of another content.
func With(content, other map[string]any, path *value.Path) (map[string]any, error) {
	out, err := with(content, other, path.Steps())
	if err != nil {
		return nil, err
	}
	object, ok := out.(map[string]any)
	if !ok {
		return nil, ErrWhole
	}
	return object, nil
}

// with returns v with the value of other at the place that the steps lead to.
func with(v, other any, steps []value.Step) (any, error) {
	if len(steps) == 0 {
		return other, nil
	}
	if steps[0].Kind == value.Name {
		return withField(v, other, steps)
	}
	return withItem(v, other, steps)
}

func withField(v, other any, steps []value.Step) (any, error) {
	object, isObject := v.(map[string]any)
	from, _ := other.(map[string]any)
	name := steps[0].Name
	if _, absent := v.(value.Absent); !isObject && !absent {
		return nil, fmt.Errorf("%s: %w", name, errNoPlace)
	}
	child, err := with(field(object, name), field(from, name), steps[1:])
	if err != nil {
		return nil, err
	}
	_, had := object[name]
	_, gone := child.(value.Absent)
	switch {
	case gone && !had:
		return v, nil
	case gone:
		object = maps.Clone(object)
		delete(object, name)
	case object == nil:
		object = map[string]any{name: child}
	default:
		object = maps.Clone(object)
		object[name] = child
	}
	return object, nil
}

func withItem(v, other any, steps []value.Step) (any, error) {
	list, _ := v.([]any)
	from, _ := other.([]any)
	at, source := indexOf(list, steps[0]), indexOf(from, steps[0])
	text := notation.Steps(steps[:1])
	if at >= 0 && indexOf(list[at+1:], steps[0]) >= 0 || source >= 0 && indexOf(from[source+1:], steps[0]) >= 0 {
		return nil, fmt.Errorf("%s names several items: name all keys", text)
	}
	var before any = value.Absent{}
	if source >= 0 {
		before = from[source]
	}
	switch {
	case at < 0 && source < 0:
		return v, nil
	case at < 0 && len(steps) > 1:
		return nil, fmt.Errorf("%s: %w", text, errNoPlace)
	case at < 0:
		return slices.Insert(slices.Clone(list), min(source, len(list)), before), nil
	}
	item, err := with(list[at], before, steps[1:])
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	if _, gone := item.(value.Absent); gone {
		return slices.Delete(list, at, at+1), nil
	}
	list[at] = item
	return list, nil
}

// Touches reports whether a change is about the value at a path, about a part of it, or about a value around it.
func (c Change) Touches(path *value.Path) bool {
	changed, err := value.ParsePath(c.Path)
	if err != nil {
		return false
	}
	steps := path.Steps()
	for i, step := range changed.Steps() {
		if i == len(steps) {
			return true
		}
		if steps[i].Kind == value.Name && !step.Equal(steps[i]) || steps[i].Kind != value.Name && !isNamedBy(steps[i], step.Value) {
			return false
		}
	}
	return true
}
