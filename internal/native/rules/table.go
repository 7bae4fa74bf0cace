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
	isFirst    bool              // check runs before those of the fields
	sameAs     reflect.Type      // the type whose rules replace those of the struct
}

// check validates a value and adds errors to the report. The value is addressable.
type check func(r *report, v reflect.Value)

// fieldRules are the rules of the table for one field. They extend or replace those of the schema.
type fieldRules struct {
	required    *string // makes the field required; the string is the detail of the error message
	notRequired bool    // the field is not required, even if the schema says so
	values      []string
	replaceEnum bool   // values replace the enum of the schema
	noEmpty     bool   // the empty string is no value of the enum
	skip        bool   // the schema of the field and everything below it is not checked
	leftOut     bool   // paths name neither the list nor the index
	segment     string // the name of the field in paths, if it is not the JSON name
	condition   precondition
	checks      []check
}

// precondition reports whether the checks of a field run. It gets the struct that has the field.
type precondition func(r *report, v reflect.Value) bool

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

// before adds a rule for a struct that runs before the checks of its fields. It tells the report what the fields belong to.
func before[T any](c func(*report, *T)) rule {
	added := onStruct(c)
	added.isFirst = true
	return added
}

// sameAs makes all rules of the type Same apply to the type T. Both have the same fields.
func sameAs[T, Same any]() rule {
	if !reflect.TypeFor[T]().ConvertibleTo(reflect.TypeFor[Same]()) {
		panic(fmt.Sprintf("rules: %s has other fields than %s", reflect.TypeFor[T](), reflect.TypeFor[Same]()))
	}
	return rule{structType: reflect.TypeFor[T](), sameAs: reflect.TypeFor[Same]()}
}

// when makes the checks of a field, and all checks below it, depend on a condition. The field is not required if the
// condition is false.
func when[T any](name string, holds func(*report, *T) bool) rule {
	return fieldRule[T](name, func(f *fieldRules) {
		f.condition = func(r *report, v reflect.Value) bool { return holds(r, v.Addr().Interface().(*T)) }
	})
}

// leftOut makes the paths of errors below a list name neither the list nor the index, as in Kubernetes.
func leftOut[T any](name string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.leftOut = true })
}

// called gives a field another name in paths, as in Kubernetes.
func called[T any](name, segment string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.segment = segment })
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

// exactly replaces the enum of a field, and rejects an empty field as an unsupported value, not as a missing one.
func exactly[T any](name string, values ...string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.values, f.replaceEnum, f.notRequired, f.noEmpty = values, true, true, true })
}

// skip turns off the schema checks of a field, and all checks below it.
func skip[T any](name string) rule {
	return fieldRule[T](name, func(f *fieldRules) { f.skip = true })
}

// skipFields turns off the schema checks of all fields of a struct, and all checks below them.
func skipFields[T any]() []rule {
	var rules []rule
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		rules = append(rules, skip[T](jsonName(f)))
	}
	return rules
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
	first   map[reflect.Type][]check
	structs map[reflect.Type][]check
	same    map[reflect.Type]reflect.Type
}

func newTable(groups ...[]rule) *table {
	t := &table{
		fields: map[reflect.Type]map[string]*fieldRules{},
		first:  map[reflect.Type][]check{}, structs: map[reflect.Type][]check{}, same: map[reflect.Type]reflect.Type{},
	}
	for _, group := range groups {
		for _, row := range group {
			switch {
			case row.sameAs != nil:
				t.same[row.structType] = row.sameAs
				continue
			case row.field == "" && row.isFirst:
				t.first[row.structType] = append(t.first[row.structType], row.check)
				continue
			case row.field == "":
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
