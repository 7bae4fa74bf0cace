package rules

import (
	"fmt"
	"reflect"
	"strings"
)

// rule is one row of the table: what holds for a Go type, or for one of its fields, wherever the type appears.
type rule struct {
	typ   reflect.Type
	field string // JSON name; empty for a rule over the whole struct
	apply func(*fieldRules)
	check check // the rule over the whole struct
}

// check looks at an addressable value.
type check func(r *report, v reflect.Value)

// fieldRules is what the table says of one field, on top of the schema.
type fieldRules struct {
	required *string // the message's detail; nil: as the schema says
	optional bool
	enum     []string
	ownEnum  bool // enum replaces the schema's
	skip     bool
	checks   []check
}

// on adds checks of the field with that JSON name. They see the value behind a pointer and are not called for nil.
func on[T, F any](name string, checks ...func(*report, F)) rule {
	want := reflect.TypeFor[F]()
	if have := fieldOf(reflect.TypeFor[T](), name).Type; have != want && have != reflect.PointerTo(want) {
		panic(fmt.Sprintf("rules: %s.%s is a %s, its rule takes %s", reflect.TypeFor[T](), name, have, want))
	}
	return row[T](name, func(f *fieldRules) {
		for _, c := range checks {
			f.checks = append(f.checks, func(r *report, v reflect.Value) { c(r, *v.Addr().Interface().(*F)) })
		}
	})
}

// each adds a rule over several fields of a struct; it runs after the fields' own.
func each[T any](c func(*report, *T)) rule {
	return rule{typ: reflect.TypeFor[T](), check: func(r *report, v reflect.Value) { c(r, v.Addr().Interface().(*T)) }}
}

// need makes a field required, with a message of its own; the schema may already say so.
func need[T any](name, detail string) rule {
	return row[T](name, func(f *fieldRules) { f.required = &detail })
}

// free lifts the schema's requirement of a field: the API server does not ask for it, or asks in other words.
func free[T any](name string) rule {
	return row[T](name, func(f *fieldRules) { f.optional = true })
}

// oneOf replaces the schema's enum of a field; without values the field has none.
func oneOf[T any](name string, values ...string) rule {
	return row[T](name, func(f *fieldRules) { f.enum, f.ownEnum = values, true })
}

// skip leaves a field and all below it alone.
func skip[T any](name string) rule {
	return row[T](name, func(f *fieldRules) { f.skip = true })
}

func row[T any](name string, apply func(*fieldRules)) rule {
	t := reflect.TypeFor[T]()
	fieldOf(t, name)
	return rule{typ: t, field: name, apply: apply}
}

// fieldOf panics for a field that does not exist: a table with a typing error must not start.
func fieldOf(t reflect.Type, name string) reflect.StructField {
	for i := range t.NumField() {
		if f := t.Field(i); jsonName(f) == name {
			return f
		}
	}
	panic(fmt.Sprintf("rules: %s has no field %q", t, name))
}

// jsonName is the name of a field in JSON, empty for one that is inlined or has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// table is the rules, found by type.
type table struct {
	fields  map[reflect.Type]map[string]*fieldRules
	structs map[reflect.Type][]check
}

func newTable(groups ...[]rule) *table {
	t := &table{fields: map[reflect.Type]map[string]*fieldRules{}, structs: map[reflect.Type][]check{}}
	for _, group := range groups {
		for _, row := range group {
			if row.field == "" {
				t.structs[row.typ] = append(t.structs[row.typ], row.check)
				continue
			}
			if t.fields[row.typ] == nil {
				t.fields[row.typ] = map[string]*fieldRules{}
			}
			f := t.fields[row.typ][row.field]
			if f == nil {
				f = &fieldRules{}
				t.fields[row.typ][row.field] = f
			}
			row.apply(f)
		}
	}
	return t
}

// field is what the table says of a field; the zero value where it says nothing.
func (t *table) field(typ reflect.Type, name string) fieldRules {
	if f := t.fields[typ][name]; f != nil {
		return *f
	}
	return fieldRules{}
}
