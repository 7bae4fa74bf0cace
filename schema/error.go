package schema

import (
	"cmp"
	"slices"
	"strings"

	"holdfast.dev/holdfast/value"
)

// Error is one error in a schema, with its path.
type Error struct {
	Path   *value.Path
	Detail string
}

// Error returns the path and the detail.
func (e *Error) Error() string {
	if e.Path == nil {
		return e.Detail
	}
	return pathText(e.Path) + ": " + e.Detail
}

// Errors is all errors of a schema, sorted by path.
type Errors []*Error

// Error returns one line per error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort sorts the errors by path, then by detail.
func (e Errors) Sort() {
	if len(e) < 2 {
		return
	}
	type keyed struct {
		path string
		err  *Error
	}
	all := make([]keyed, len(e))
	for i, err := range e {
		all[i] = keyed{pathText(err.Path), err}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.err.Detail, b.err.Detail))
	})
	for i, k := range all {
		e[i] = k.err
	}
}

// pathText returns a path as Kubernetes writes it: properties[spec].items.
func pathText(path *value.Path) string { return value.Notation{Kubernetes: true}.Path(path) }
