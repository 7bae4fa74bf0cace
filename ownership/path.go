package ownership

import (
	"errors"
	"fmt"

	"holdfast.dev/holdfast/value"
)

// Path names a field: .spec.template.spec.containers[name="web"].image. Its steps are
// those of the view in which the field was found.
type Path struct{ *value.Path }

// newPath returns the path with these steps, which it copies.
func newPath(steps []value.Step) Path { return Path{value.NewPath(steps...)} }

// String returns the path with a leading dot.
func (p Path) String() string { return notation().Path(p.Path) }

// notation writes paths in messages.
func notation() value.Notation { return value.Notation{LeadingDot: true, Values: printer()} }

// printer prints values in messages.
func printer() value.Printer { return value.Printer{Limit: maxShown, LiteralHTML: true} }

// ParsePath reads a path as Path.String writes it. The first dot may be left out,
// and so may the quotes around the keys of an item: containers[name=web].image.
func ParsePath(written string) (Path, error) {
	if written == "" {
		return Path{}, errors.New("field: required")
	}
	path, err := value.ParsePath(written)
	if err != nil {
		return Path{}, fmt.Errorf("field %q: %w", written, err)
	}
	steps := path.Steps()
	for i, step := range steps {
		if step.Kind == value.Index || step.Kind == value.Item && (step.Index > 0 || len(step.Keys) == 0) {
			return Path{}, fmt.Errorf("field %q: at %q: an item is named by its keys, as in [name=\"web\"]",
				written, notation().Steps(steps[i:]))
		}
	}
	return Path{path}, nil
}

// isWithin reports whether path is other or a place inside of it. The two may be
// of different views: an item is compared by the keys of its own step.
func isWithin(path, other *value.Path) bool {
	for range path.Len() - other.Len() {
		path = path.Parent()
	}
	for path != nil && other != nil {
		if !isSame(path.Last(), other.Last()) {
			return false
		}
		path, other = path.Parent(), other.Parent()
	}
	return path == nil && other == nil
}

// isSame reports whether two steps name the same value. It compares items by the keys
// of step.
func isSame(step, other value.Step) bool {
	if step.Kind != other.Kind {
		return false
	}
	if step.Kind == value.Item {
		return value.Applied.EqualKeys(step.Keys, step.Value, other.Value)
	}
	return step.Equal(other)
}

func nameStep(name string) value.Step { return value.Step{Name: name} }

func itemStep(k keys, item map[string]any) value.Step {
	return value.Step{Kind: value.Item, Keys: k.names, Value: k.complete(item)}
}

func memberStep(member any) value.Step { return value.Step{Kind: value.Member, Value: member} }

// isAbsent reports whether a field is not set: it is not there, or null.
func isAbsent(v any) bool { return value.Applied.IsAbsent(v) }

// field returns a field of an object, value.Absent if it is not set.
func field(object map[string]any, name string) any { return value.Applied.Field(object, name) }

// equal compares two values of a field.
func equal(a, b any) bool { return value.Applied.Equal(a, b) }
