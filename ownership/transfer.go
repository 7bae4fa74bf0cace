package ownership

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Give is the last-applied configuration of an object with a field that apply did
// not own, at its live value: the next apply of a file without the field clears it.
func Give(t *Type, obj map[string]any, path Path) (string, error) {
	config, err := configurationOf(t, obj, path)
	if err != nil {
		return "", err
	}
	value := lookup(judged(obj), path)
	if isNone(value) {
		return "", fmt.Errorf("field %s: the object has no such field", path)
	}
	if current := lookup(config, path); !isNone(current) && equal(current, value) {
		return "", fmt.Errorf("field %s: kubectl apply owns it already", path)
	}
	return write(place(config, path, value))
}

// Release is the last-applied configuration of an object without a field that
// apply owned: the next apply of a file without the field leaves it alone.
func Release(t *Type, obj map[string]any, path Path) (string, error) {
	config, err := configurationOf(t, obj, path)
	if err != nil {
		return "", err
	}
	if isNone(lookup(judged(config), path)) {
		return "", fmt.Errorf("field %s: kubectl apply does not own it", path)
	}
	return write(drop(config, path))
}

// WithLastApplied is an object with another last-applied configuration. It shares
// the rest.
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

// configurationOf is what was applied last, as it was written, for a change at a
// path that is a field of its own.
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
	for i, step := range path {
		switch {
		case !n.has(step):
			return nil, fmt.Errorf("field %s: %s is one value for kubectl apply; transfer that", path, path[:i])
		case step.isName():
			n = n.child(step.Name)
		case step.Member != nil:
			continue
		default:
			n = n.elem
		}
		if n == nil {
			return nil, fmt.Errorf("field %s: the kind has no %s", path, path[:i+1])
		}
	}
	return config, nil
}

// has says whether the parts of a value are fields of their own, and named as the
// step names one.
func (n *node) has(step Step) bool {
	switch n.shape {
	case record, mapping:
		return step.isName()
	case keyed:
		return step.Keys != nil
	case members:
		return step.Member != nil
	}
	return false
}

func write(config any) (string, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("encode last-applied configuration: %w", err)
	}
	return string(text) + "\n", nil
}

// place is a value with another one at a path; what is not there is made.
func place(in any, path Path, value any) any {
	if len(path) == 0 {
		return value
	}
	step := path[0]
	if step.isName() {
		object, _ := in.(map[string]any)
		object = maps.Clone(object)
		if object == nil {
			object = map[string]any{}
		}
		object[step.Name] = place(object[step.Name], path[1:], value)
		return object
	}
	list, _ := in.([]any)
	list = slices.Clone(list)
	if i := indexOf(list, step); i >= 0 {
		list[i] = place(list[i], path[1:], value)
		return list
	}
	if step.Member != nil {
		return append(list, step.Member)
	}
	item := map[string]any{}
	for _, key := range step.Keys {
		item[key] = step.Item[key]
	}
	return append(list, place(item, path[1:], value))
}

// drop is a value without what is at a path.
func drop(in any, path Path) any {
	step := path[0]
	if step.isName() {
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

// indexOf finds the item of a list that a step names.
func indexOf(list []any, step Step) int {
	return slices.IndexFunc(list, func(v any) bool {
		if step.Member != nil {
			return equal(v, step.Member)
		}
		item, ok := v.(map[string]any)
		return ok && sameKnown(step.Keys, item, step.Item)
	})
}
