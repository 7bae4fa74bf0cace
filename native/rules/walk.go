package rules

import (
	"reflect"
	"slices"
	"strings"
)

// walk reports what n's checks find in v, which is addressable. A nil node has none.
func (r *report) walk(n *node, v reflect.Value) {
	if n == nil {
		return
	}
	switch n.kind {
	case reflect.Struct:
		for i := range n.members {
			r.member(&n.members[i], v.Field(n.members[i].index))
		}
		for _, check := range n.checks {
			check(r, v)
		}
	case reflect.Slice:
		for i := range v.Len() {
			r.push(i)
			r.walk(n.elem, v.Index(i))
			r.pop()
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			elem := reflect.New(v.Type().Elem()).Elem() // values of a map have no address
			elem.Set(v.MapIndex(k))
			r.push(key(k.String()))
			r.walk(n.elem, elem)
			r.pop()
		}
	}
}

func (r *report) member(m *member, v reflect.Value) {
	if m.segment != nil {
		r.push(m.segment)
		defer r.pop()
	}
	if m.required != nil && missing(v) {
		r.required(*m.required)
		return
	}
	if m.pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	if m.enum != nil {
		r.enum(m, v)
	}
	for _, check := range m.checks {
		check(r, v)
	}
	r.walk(m.below, v)
}

func missing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsNil()
	}
}

// enum looks at a string or at each of a list of strings.
func (r *report) enum(m *member, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); !slices.Contains(m.enum, s) && (s != "" || !m.empty) {
			r.unsupported(s, m.enum)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if s := v.Index(i).String(); !slices.Contains(m.enum, s) {
				r.unsupported(s, m.enum, i)
			}
		}
	}
}
