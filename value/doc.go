// Package value compares, hashes, orders and prints decoded JSON values: the Go
// types map[string]any, []any, string, bool, nil and numbers. It also names places
// in objects. The other packages that compare objects use it, so that all agree on
// when two values are equal.
//
//	value.Strict.Equal(int64(1), 1.0)                  // true
//	value.Applied.Equal(obj["a"], value.Absent{})      // true for null
//	path, err := value.ParsePath(`spec.ports[name="http"].port`)
//	text := value.Printer{Limit: 64}.Print(obj["spec"])
//
// Numbers are equal when they are the same number, whatever Go type holds them:
// int64, float64, json.Number and every other number type of Go. No digit is
// lost: 2^53+1 differs from the float64 2^53.
//
// A [Mode] says how absent, null and empty values compare. The methods of a
// [Comparison] also take a [Shape]. It says which lists are sets, which values are
// compared in a canonical form, and which are not compared at all.
//
// A [Path] names one place in an object. A [Notation] says how its text looks.
//
// Nothing here changes its arguments. Paths hold references into the objects
// that they name, and are valid as long as these do not change. Everything is
// safe for concurrent use, except [Hasher].
//
// Other programs may import this package. Its API follows semantic versions: before version 1.0.0 of Holdfast, a minor version
// may change it, and CHANGELOG.md says how.
package value
