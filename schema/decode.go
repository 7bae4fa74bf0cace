package schema

import (
	"encoding/json"
	"fmt"
	"strconv"

	"holdfast.dev/holdfast/value"
)

// Limits limits the schemas that Decode accepts. A zero field means the default.
type Limits struct {
	// Depth is how deeply nodes may be nested, by default 500.
	Depth int
	// Nodes is how many nodes a schema may have, by default 200,000.
	Nodes int
}

const (
	defaultDepth = 500
	defaultNodes = 200_000
	// maxErrors is after how many errors decoding stops.
	maxErrors = 100
)

// Decode reads a schema from a value as JSON decoding gives it, within the
// default limits. See [Limits.Decode].
func Decode(v any) (s *Schema, unknown []*value.Path, err error) {
	return Limits{}.Decode(v)
}

// Decode reads a schema from a value as JSON decoding gives it: maps, slices, strings,
// bools, int64, float64 and nil. unknown has the paths of keys that are no keywords,
// sorted by name at each node; the schema does not have them. A keyword with the value
// null counts as absent. The error is nil or an [Errors] with at most a hundred errors;
// the schema is nil then.
func (l Limits) Decode(v any) (s *Schema, unknown []*value.Path, err error) {
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	if l.Nodes <= 0 {
		l.Nodes = defaultNodes
	}
	d := &decoder{limits: l}
	s = d.schema(nil, v)
	if len(d.errors) > 0 {
		d.errors.Sort()
		return nil, d.unknown, d.errors
	}
	return s, d.unknown, nil
}

type decoder struct {
	limits  Limits
	depth   int
	nodes   int
	errors  Errors
	unknown []*value.Path
}

func (d *decoder) fail(path *value.Path, format string, args ...any) {
	if !d.full() {
		d.errors = append(d.errors, &Error{path, fmt.Sprintf(format, args...)})
	}
}

func (d *decoder) full() bool { return len(d.errors) >= maxErrors }

func (d *decoder) schema(path *value.Path, v any) *Schema {
	m, ok := v.(map[string]any)
	if !ok {
		d.fail(path, "must be a schema (an object), not %s", kindOf(v))
		return nil
	}
	if d.depth >= d.limits.Depth {
		d.fail(path, "the schema is nested more than %d levels deep", d.limits.Depth)
		return nil
	}
	d.nodes++
	if d.nodes > d.limits.Nodes {
		if d.nodes == d.limits.Nodes+1 {
			d.fail(path, "the schema has more than %d nodes", d.limits.Nodes)
		}
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	return schemaKeywords.decode(d, path, m)
}

// decode decodes the keys of m into a new T.
func (o object[T]) decode(d *decoder, path *value.Path, m map[string]any) *T {
	out := new(T)
	for _, key := range sortedNames(m) {
		if d.full() {
			break
		}
		k, known := o.keywords[key]
		if !known {
			d.unknown = append(d.unknown, path.Child(key))
			continue
		}
		if m[key] == nil {
			continue
		}
		if d.field(path.Child(key), m[key], k.at(out)) {
			*o.blank(out) |= k.blank
		}
	}
	return out
}

// field decodes v into the field at target. It reports whether the keyword was given
// with its zero value.
func (d *decoder) field(path *value.Path, v, target any) (blank bool) {
	switch t := target.(type) {
	case *string:
		*t = take[string](d, path, v, "a string")
		return *t == ""
	case *bool:
		*t = take[bool](d, path, v, "a boolean")
		return !*t
	case **string:
		text := take[string](d, path, v, "a string")
		*t = &text
	case **bool:
		flag := take[bool](d, path, v, "a boolean")
		*t = &flag
	case **int64:
		*t = d.integer(path, v)
	case *json.Number:
		*t = d.number(path, v)
	case *any:
		*t = v
	case *[]any:
		*t = take[[]any](d, path, v, "a list")
	case *[]string:
		*t = d.names(path, v)
	case items:
		if _, isList := v.([]any); isList {
			t.of.Tuple = d.list(path, v)
		} else {
			t.of.Items = d.schema(path, v)
		}
	default:
		d.holder(path, v, target)
	}
	return false
}

func (d *decoder) integer(path *value.Path, v any) *int64 {
	switch v := v.(type) {
	case int64:
		return &v
	case float64:
		// Go does not define the conversion of floats beyond 2^63.
		if i := int64(v); v >= -1<<63 && v < 1<<63 && float64(i) == v {
			return &i
		}
	}
	d.fail(path, "must be an integer, not %s", kindOf(v))
	return nil
}

func (d *decoder) number(path *value.Path, v any) json.Number {
	switch v := v.(type) {
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case float64:
		if text, err := json.Marshal(v); err == nil {
			return json.Number(text)
		}
	}
	d.fail(path, "must be a number, not %s", kindOf(v))
	return ""
}

func (d *decoder) names(path *value.Path, v any) []string {
	list := take[[]any](d, path, v, "a list of strings")
	if list == nil {
		return nil
	}
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = take[string](d, path.Index(i), item, "a string")
	}
	return names
}

// take returns v as a T. If v has another type, it records an error and returns the zero
// T.
func take[T any](d *decoder, path *value.Path, v any, want string) T {
	typed, ok := v.(T)
	if !ok {
		d.fail(path, "must be %s, not %s", want, kindOf(v))
	}
	return typed
}

// kindOf describes the type of a value in an error.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	}
	return fmt.Sprintf("a Go %T", v)
}
