package rules

import (
	"reflect"
	"slices"
	"strings"
)

// walk runs the checks of a node and of all nodes below it. v is addressable. A nil node has no checks.
func (r *report) walk(n *node, v reflect.Value) {
	if n == nil {
		return
	}
	switch n.kind {
	case reflect.Struct:
		if n.as != nil {
			v = v.Addr().Convert(reflect.PointerTo(n.as)).Elem()
		}
		for _, check := range n.first {
			check(r, v)
		}
		for i := range n.fields {
			f := &n.fields[i]
			value := v.Field(f.index)
			if f.pointer && f.required == nil && value.IsNil() {
				continue // there is nothing to check, and conditions cost more
			}
			if f.condition == nil || f.condition(r, v) {
				r.walkField(f, value)
			}
		}
		for _, check := range n.checks {
			check(r, v)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if n.leftOut {
				r.walk(n.elem, v.Index(i))
				continue
			}
			r.push(i)
			r.walk(n.elem, v.Index(i))
			r.pop()
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			elem := reflect.New(v.Type().Elem()).Elem() // checks need an address; values in a map have none
			elem.Set(v.MapIndex(k))
			r.push(key(k.String()))
			r.walk(n.elem, elem)
			r.pop()
		}
	}
}

func (r *report) walkField(m *fieldNode, v reflect.Value) {
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
	r.walk(m.child, v)
}

// walkBelow runs the checks of a value that the walk skips. v is a pointer; a nil pointer has no checks. rest is the path of
// the value.
func (r *report) walkBelow(v reflect.Value, rest ...any) {
	if !v.IsNil() {
		r.under(func() { r.walk(r.rules.lockedNode(v.Type()), v.Elem()) }, rest...)
	}
}

func missing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsNil()
	}
}

// enum checks that a string, or each string of a list, is one of the values.
func (r *report) enum(m *fieldNode, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); !slices.Contains(m.enum, s) && (s != "" || !m.allowEmpty) {
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
