package ownership

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// AddApplied returns the last-applied configuration of an object with one more field,
// at its live value. Apply then owns the field: the next apply of a file without it
// removes it from the object.
func AddApplied(t *Type, obj map[string]any, path Path) (string, error) {
	config, err := configurationOf(t, obj, path)
	if err != nil {
		return "", err
	}
	steps := path.Steps()
	live := lookup(judgedPart(obj), steps)
	if isAbsent(live) {
		return "", fmt.Errorf("field %s: the object has no such field", path)
	}
	if current := lookup(config, steps); !isAbsent(current) && equal(current, live) {
		return "", fmt.Errorf("field %s: kubectl apply owns it already", path)
	}
	return write(place(config, steps, live))
}

// RemoveApplied returns the last-applied configuration of an object without a field
// that apply owned. The next apply of a file without the field does not change it.
func RemoveApplied(t *Type, obj map[string]any, path Path) (string, error) {
	config, err := configurationOf(t, obj, path)
	if err != nil {
		return "", err
	}
	steps := path.Steps()
	if isAbsent(lookup(judgedPart(config), steps)) {
		return "", fmt.Errorf("field %s: kubectl apply does not own it", path)
	}
	return write(drop(config, steps))
}

// WithLastApplied returns a copy of an object with another last-applied
// configuration. It shares the rest with the object.
func WithLastApplied(obj map[string]any, text string) map[string]any {
	out := maps.Clone(obj)
	meta, _ := out["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	annotations, _ := meta["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[LastApplied] = text
	meta["annotations"], out["metadata"] = annotations, meta
	return out
}

// configurationOf returns the last-applied configuration as it was written. It fails
// if client-side apply does not treat the value at the path as a separate field.
func configurationOf(t *Type, obj map[string]any, path Path) (map[string]any, error) {
	text := lastApplied(obj)
	if text == "" {
		return nil, errors.New("the object has no last-applied configuration: it is not managed with kubectl apply")
	}
	var config map[string]any
	if err := utiljson.Unmarshal([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("last-applied configuration: %w", err)
	}
	n := t.Applied.root
	steps := path.Steps()
	for i, step := range steps {
		switch {
		case !n.has(step):
			return nil, fmt.Errorf("field %s: %s is one value for kubectl apply; transfer that", path, newPath(steps[:i]))
		case step.Kind == value.Name:
			n = n.child(step.Name)
		case step.Kind == value.Member:
			continue
		default:
			n = n.elem
		}
		if n == nil {
			return nil, fmt.Errorf("field %s: the kind has no %s", path, newPath(steps[:i+1]))
		}
	}
	return config, nil
}

// has reports whether the parts of a value at n are separate fields, and paths name
// them with steps of this kind.
func (n *node) has(step value.Step) bool {
	switch n.shape {
	case record, mapping:
		return step.Kind == value.Name
	case keyed:
		return step.Kind == value.Item
	case set:
		return step.Kind == value.Member
	}
	return false
}

// write encodes a configuration as kubectl does.
func write(config any) (string, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("encode last-applied configuration: %w", err)
	}
	return string(text) + "\n", nil
}

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
