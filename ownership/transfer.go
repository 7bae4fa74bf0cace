package ownership

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// IsApplied reports whether the last-applied configuration of an object has a field, also as
// null where null owns the absence of the field.
func IsApplied(t *Type, obj map[string]any, path Path) bool {
	return t.owns(lastApplied(obj), path.Steps())
}

func (t *Type) owns(text string, path []value.Step) bool {
	return text != "" && isIn(t.parse(text).values, path)
}

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
	if config, err = t.without(config, path); err != nil {
		return "", err
	}
	text, err := write(place(config, steps, live))
	if err == nil && !t.owns(text, steps) {
		return "", otherVersion(config, path)
	}
	return text, err
}

// RemoveApplied returns the last-applied configuration of an object without a field
// that apply owned. The next apply of a file without the field does not change it.
func RemoveApplied(t *Type, obj map[string]any, path Path) (string, error) {
	if text := lastApplied(obj); text != "" && t.parse(text).values != nil && !IsApplied(t, obj, path) {
		return "", fmt.Errorf("field %s: kubectl apply does not own it", path)
	}
	config, err := configurationOf(t, obj, path)
	if err != nil {
		return "", err
	}
	if config, err = t.without(config, path); err != nil {
		return "", err
	}
	return write(config)
}

// without returns a configuration that does not own a field. The configuration may have the
// field under several names: the data of a Secret also as stringData.
func (t *Type) without(config map[string]any, path Path) (map[string]any, error) {
	for {
		text, err := write(config)
		if err != nil {
			return nil, err
		}
		canonical := t.parse(text).values
		if !isIn(canonical, path.Steps()) {
			return config, nil
		}
		written := path.Steps()
		if !isIn(config, written) {
			if written = t.writtenAs(config, canonical, path.Steps()); written == nil {
				return nil, otherVersion(config, path)
			}
		}
		config, _ = drop(config, written).(map[string]any)
	}
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
