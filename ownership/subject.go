package ownership

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/value"
)

// PathOf returns the path of a field in managed fields. ok is false for an item that is named by its position.
func PathOf(path fieldpath.Path) (_ Path, ok bool) {
	steps := make([]value.Step, len(path))
	for i, element := range path {
		switch {
		case element.FieldName != nil:
			steps[i] = nameStep(*element.FieldName)
		case element.Key != nil:
			steps[i] = itemStep(keyOf(&node{}, element))
		case element.Value != nil:
			steps[i] = memberStep((*element.Value).Unstructured())
		default:
			return Path{}, false
		}
	}
	return newPath(steps), true
}

// Configuration is the last-applied configuration of an object. The zero Configuration has no fields.
type Configuration struct{ plan *plan }

// Configuration returns the last-applied configuration of the object. It has no fields if the object has none, or one that cannot be
// read.
func (s Subject) Configuration() Configuration {
	text := lastApplied(s.Object)
	if text == "" {
		return Configuration{}
	}
	config := s.Type.parse(text)
	if config.values == nil {
		return Configuration{}
	}
	return Configuration{config.plan()}
}

// Sets reports whether client-side apply sets or clears a field: the configuration has the field, or a value around it that apply takes
// as one field.
func (c Configuration) Sets(path Path) bool {
	p := c.plan
	for _, step := range path.Steps() {
		switch {
		case p == nil:
			return false
		case p.isLeaf:
			return true
		case step.Kind == value.Name:
			p = p.child(step.Name)
		case step.Kind == value.Item:
			like, _ := step.Value.(map[string]any)
			p = p.item(like, 0)
		case step.Kind == value.Member:
			p = p.member(step.Value)
		default:
			return false
		}
	}
	return p != nil
}

// IsFree reports whether a controller computes the field, so that no apply owns it.
func (s Subject) IsFree(path Path) bool {
	steps := path.Steps()
	return len(steps) > 0 && slices.Contains(s.Type.free(s.Object), steps[0].Name)
}

// WithoutDefaults returns those of the fields whose value the server would not set as the default if the object did not have the
// field. The order stays.
func (s Subject) WithoutDefaults(fields []Path) []Path {
	if s.Type.Default == nil || len(fields) == 0 {
		return fields
	}
	// Defaults may depend on the name of the object. The managed fields and the status are the most expensive part to decode.
	object, _ := drop(s.Object, []value.Step{nameStep("metadata"), nameStep("managedFields")}).(map[string]any)
	object = maps.Clone(object)
	delete(object, "status")
	// Most defaults depend on no other field, so that one call finds most of them.
	var without any = object
	for _, field := range fields {
		without = dropAsApply(without, field.Steps())
	}
	fields = s.differing(without, fields)
	kept := make([]Path, 0, len(fields))
	for i, field := range fields {
		if i < maxDefaults {
			kept = append(kept, s.differing(dropAsApply(object, field.Steps()), []Path{field})...)
			continue
		}
		kept = append(kept, field)
	}
	return kept
}

// dropAsApply is drop as server-side apply does it: an object that has nothing but the field goes with it.
func dropAsApply(in any, path []value.Step) any {
	for last := len(path) - 1; last > 0 && path[last].Kind == value.Name; last-- {
		parent, ok := lookup(in, path[:last]).(map[string]any)
		if !ok || len(parent) != 1 {
			break
		}
		path = path[:last]
	}
	return drop(in, path)
}

// differing returns the fields that an object with its defaults does not have as s has them.
func (s Subject) differing(obj any, fields []Path) []Path {
	object, _ := obj.(map[string]any)
	complete, err := s.Type.Default(object)
	if err != nil {
		return fields
	}
	var out []Path
	for _, field := range fields {
		if !s.Type.mode().Equal(lookup(complete, field.Steps()), lookup(s.Object, field.Steps())) {
			out = append(out, field)
		}
	}
	return out
}
