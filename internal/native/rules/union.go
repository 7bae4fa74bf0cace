package rules

import "reflect"

// union is fields of a struct of which one is set, in the order in which Kubernetes checks them. All are pointers. If several
// are set, Kubernetes validates the first one and refuses the others.
type union[T any] struct {
	names []string
	// indices are the places of the fields in the struct. They are computed once: every write of a pod needs them.
	indices []int
}

// newUnion returns the union of fields by their JSON names, or of all fields of the struct.
func newUnion[T any](names ...string) union[T] {
	t := reflect.TypeFor[T]()
	if len(names) == 0 {
		for f := range t.Fields() {
			names = append(names, jsonName(f))
		}
	}
	u := union[T]{names: names}
	for _, name := range names {
		u.indices = append(u.indices, fieldOf(t, name).Index[0])
	}
	return u
}

// rules returns rules that validate only the first field that is set.
func (u union[T]) rules() []rule {
	rules := make([]rule, len(u.names))
	for i, name := range u.names {
		rules[i] = when(name, func(_ *report, s *T) bool {
			first, found := u.first(s)
			return !found || first == name
		})
	}
	return rules
}

// first returns the name of the first field that is set.
func (u union[T]) first(s *T) (name string, found bool) {
	v := reflect.ValueOf(s).Elem()
	for i, index := range u.indices {
		if !v.Field(index).IsNil() {
			return u.names[i], true
		}
	}
	return "", false
}

// set returns the names of the fields that are set.
func (u union[T]) set(s *T) []string {
	v := reflect.ValueOf(s).Elem()
	var names []string
	for i, index := range u.indices {
		if !v.Field(index).IsNil() {
			names = append(names, u.names[i])
		}
	}
	return names
}
