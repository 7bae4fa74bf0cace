package rules

import (
	"fmt"
	"reflect"
	"strings"
)

// rule is one row of the table: a rule for a struct type or for one of its fields. It applies wherever the type appears.
type rule struct {
	structType reflect.Type
	field      string            // the JSON name of the field; empty for a rule for the whole struct
	apply      func(*fieldRules) // of a rule for a field
	check      check             // of a rule for the whole struct
}

// check validates a value and adds errors to the report. The value is addressable.
type check func(r *report, v reflect.Value)

// fieldRules are the rules of the table for one field. They extend or replace those of the schema.
type fieldRules struct {
	required    *string // makes the field required; the string is the detail of the error message
	notRequired bool    // the field is not required, even if the schema says so
	values      []string
	replaceEnum bool // values replace the enum of the schema
	skip        bool // the schema of the field and everything below it is not checked
	checks      []check
}

// onField adds checks for the field with this JSON name. For a pointer field, the checks get the value that it points to,
// and are not called if it is nil.
func onField[T, F any](name string, checks ...func(*report, F)) rule {
	want := reflect.TypeFor[F]()
	if have := fieldOf(reflect.TypeFor[T](), name).Type; have != want && have != reflect.PointerTo(want) {
		panic(fmt.Sprintf("rules: %s.%s is a %s, its rule takes %s", reflect.TypeFor[T](), name, have, want))
	}
	return fieldRule[T](name, func(f *fieldRules) {
		for _, c := range checks {
			f.checks = append(f.checks, func(r *report, v reflect.Value) { c(r, *v.Addr().Interface().(*F)) })
		}
	})
}

// onStruct adds a rule for several fields of a struct. It runs after the checks of the single fields.
func onStruct[T any](c func(*report, *T)) rule {
	return rule{structType: reflect.TypeFor[T](), check: func(r *report, v reflect.Value) { c(r, v.Addr().Interface().(*T)) }}
}

// require makes a field required, with this detail in the error message. The schema may already require the field.
func require[T any](name, detail string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.required = &detail })
}

// notRequired makes a field optional that the schema requires. Kubernetes does not require it, or has another error
// message, which another rule adds.
func notRequired[T any](name string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.notRequired = true })
}

// oneOf replaces the enum that a field has in the schema. Without values, the enum is removed.
func oneOf[T any](name string, values ...string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.values, f.replaceEnum = values, true })
}

// skip turns off the schema checks of a field, and all checks below it.
func skip[T any](name string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.skip = true })
}

// fieldRule returns a rule for a field by its JSON name.
func fieldRule[T any](name string, apply func(*fieldRules)) rule {
	t := reflect.TypeFor[T]()
	fieldOf(t, name)
	return rule{structType: t, field: name, apply: apply}
}

// fieldOf returns the field of a struct by its JSON name. It panics if there is none: this is a typing error in the table.
func fieldOf(t reflect.Type, name string) reflect.StructField {
	for i := range t.NumField() {
		if f := t.Field(i); jsonName(f) == name {
			return f
		}
	}
	panic(fmt.Sprintf("rules: %s has no field %q", t, name))
}

// jsonName returns the name of a field in JSON. It is empty for inlined fields and fields that are not in JSON.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// table holds the rules by struct type and JSON name.
type table struct {
	fields  map[reflect.Type]map[string]*fieldRules
	structs map[reflect.Type][]check
}

func newTable(groups ...[]rule) *table {
	t := &table{fields: map[reflect.Type]map[string]*fieldRules{}, structs: map[reflect.Type][]check{}}
	for _, group := range groups {
		for _, row := range group {
			if row.field == "" {
				t.structs[row.structType] = append(t.structs[row.structType], row.check)
				continue
			}
			if t.fields[row.structType] == nil {
				t.fields[row.structType] = map[string]*fieldRules{}
			}
			f := t.fields[row.structType][row.field]
			if f == nil {
				f = &fieldRules{}
				t.fields[row.structType][row.field] = f
			}
			row.apply(f)
		}
	}
	return t
}

// field returns the rules for a field; the zero value if there are none.
func (t *table) field(typ reflect.Type, name string) fieldRules {
	if f := t.fields[typ][name]; f != nil {
		return *f
	}
	return fieldRules{}
}
