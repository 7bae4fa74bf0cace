package rules

import (
	"reflect"
	"slices"
)

// union lists fields of a struct of which one is set, in the order in which Kubernetes checks them. All are pointers. If
// several are set, Kubernetes validates the first one and refuses the others.
type union []string

// unionOf returns the union of all fields of a struct.
func unionOf[T any]() union {
	var names union
	for f := range reflect.TypeFor[T]().Fields() {
		names = append(names, jsonName(f))
	}
	return names
}

// rulesOf returns rules that validate only the first field of a union that is set.
func rulesOf[T any](u union) []rule {
	rules := make([]rule, len(u))
	for i, name := range u {
		rules[i] = when(name, func(_ *report, s *T) bool {
			set := u.set(reflect.ValueOf(s).Elem())
			return len(set) == 0 || set[0] == name
		})
	}
	return rules
}

// set returns the names of the fields that are set.
func (u union) set(v reflect.Value) []string {
	var names []string
	for i := range v.NumField() {
		if name := jsonName(v.Type().Field(i)); slices.Contains(u, name) && !v.Field(i).IsNil() {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Index(u, a) - slices.Index(u, b) })
	return names
}
