package lint

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/parameters"
)

// narrow returns those of some parameters that may set immutable fields of a template. Most
// parameters set none, and rendering a template for each of them would take most of the time of
// package verify. So narrow changes many parameters at the same time: if all objects stay, with all
// immutable fields, none of these parameters sets one. Otherwise it divides the parameters and
// looks at each half.
//
// A parameter is missed if its change and that of another one cancel each other out, such as in
// {{ eq .Params.A .Params.B }}. narrow therefore gives the parameters different values, where any
// text will do, and changes them in two ways.
func (l *linter) narrow(ctx context.Context, at rendered, definitions []*parameters.Definition) []*parameters.Definition {
	if len(definitions) < 2 || l.exhaustive {
		return definitions
	}
	if l.unaffected(ctx, at, definitions) {
		return nil
	}
	return l.divide(ctx, at, definitions)
}

// divide narrows the halves of some parameters, of which at least one sets an immutable field.
func (l *linter) divide(ctx context.Context, at rendered, definitions []*parameters.Definition) []*parameters.Definition {
	if len(definitions) < 2 {
		return definitions
	}
	half := len(definitions) / 2
	first, second := definitions[:half], definitions[half:]
	if found := l.narrow(ctx, at, first); len(found) > 0 {
		return append(found, l.narrow(ctx, at, second)...)
	}
	return l.divide(ctx, at, second)
}

// rendered is a template that was rendered with the values of a base.
type rendered struct {
	template string
	base     map[string]string
	objects  map[string]runtime.Object
}

// unaffected reports whether no immutable field changes if all the parameters change.
func (l *linter) unaffected(ctx context.Context, at rendered, definitions []*parameters.Definition) bool {
	for turn := range 2 {
		values := maps.Clone(at.base)
		for i, definition := range definitions {
			values[definition.Name] = another(definition, i, i+turn)
		}
		objects, err := l.render(ctx, at.template, values)
		if err != nil || len(objects) != len(at.objects) {
			return false
		}
		for key, object := range objects {
			before, found := at.objects[key]
			if !found || len(fields(object, before)) > 0 || len(fields(before, object)) > 0 {
				return false
			}
		}
	}
	return true
}

// another returns one of the candidates of a parameter after the first, which is the default.
// Parameters that take any text get different values.
func another(definition *parameters.Definition, index, turn int) string {
	values := candidates(definition)
	if len(values) == 1 {
		return values[0]
	}
	value := values[1+turn%(len(values)-1)]
	if definition.Type != parameters.Array && definition.Type != parameters.Map && strings.HasPrefix(value, "holdfast-") {
		value += strconv.Itoa(index)
	}
	return value
}
