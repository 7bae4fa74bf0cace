package references

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Typed finds the references in objects of a Go type of Kubernetes.
type Typed struct {
	root *typedNode
	of   reflect.Type
}

// typedNode is a node of rules, for values of a type.
type typedNode struct {
	// pointer says that the type is a pointer, and then the rest is about what it points to.
	pointer bool
	fields  []typedField
	// keys are entries of a map.
	keys          []typedKey
	items, values *typedNode
	ends          []typedEnd
}

type typedField struct {
	index []int
	node  *typedNode
	ends  []typedNamed
}

type typedKey struct {
	name reflect.Value
	node *typedNode
	ends []namedEnd
}

// typedNamed is a namedEnd whose namespace is a field of the struct.
type typedNamed struct {
	kind      Kind
	namespace []int
}

// typedEnd is an end whose value is a string, a struct with a name, or encoded JSON.
type typedEnd struct {
	end
	// name, namespace and objectKind are the fields of a struct, nil if it has none.
	name, namespace, objectKind []int
	encoded                     bool
}

// Typed returns the rules for objects of the type of an object. The error names a place that the type does not have.
func (r *Rules) Typed(object any) (*Typed, error) {
	t := reflect.TypeOf(object)
	if r.strings {
		return nil, fmt.Errorf("%v: a rule must name the place of a reference", t)
	}
	root, err := compile(&r.root, t, "")
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	return &Typed{root: root, of: t}, nil
}

// Visit calls a function for each reference of an object, which has the type of the rules. The function may be called several times for a
// reference.
func (t *Typed) Visit(object runtime.Object, visit Visit) {
	v := reflect.ValueOf(object)
	if v.Type() != t.of {
		panic(fmt.Sprintf("references: rules for %v used for %v", t.of, v.Type()))
	}
	t.root.visit(v, visit)
}

var rawExtension = reflect.TypeFor[runtime.RawExtension]()

func compile(n *node, t reflect.Type, at string) (*typedNode, error) {
	out := &typedNode{}
	if t.Kind() == reflect.Pointer {
		out.pointer, t = true, t.Elem()
	}
	for _, e := range n.ends {
		found, err := compileEnd(e, t, at)
		if err != nil {
			return nil, err
		}
		out.ends = append(out.ends, found)
	}
	for i := range n.fields {
		if err := out.addField(&n.fields[i], t, at); err != nil {
			return nil, err
		}
	}
	var err error
	if n.items != nil {
		if t.Kind() != reflect.Slice {
			return nil, fmt.Errorf("%s is not a list", at)
		}
		if out.items, err = compile(n.items, t.Elem(), at+"[*]"); err != nil {
			return nil, err
		}
	}
	if n.values != nil {
		if t.Kind() != reflect.Map {
			return nil, fmt.Errorf("%s is not a map", at)
		}
		out.values, err = compile(n.values, t.Elem(), at+".*")
	}
	return out, err
}

func (n *typedNode) addField(f *field, t reflect.Type, at string) error {
	at += "." + f.name
	var inner reflect.Type
	var index []int
	switch t.Kind() {
	case reflect.Map:
		inner = t.Elem()
	case reflect.Struct:
		if index = fieldIndex(t, f.name); index == nil {
			return fmt.Errorf("there is no %s", at)
		}
		inner = t.FieldByIndex(index).Type
	default:
		return fmt.Errorf("there is no %s", at)
	}
	var below *typedNode
	if f.node != nil {
		var err error
		if below, err = compile(f.node, inner, at); err != nil {
			return err
		}
	}
	if index == nil {
		n.keys = append(n.keys, typedKey{name: reflect.ValueOf(f.name).Convert(t.Key()), node: below, ends: f.ends})
		return nil
	}
	out := typedField{index: index, node: below}
	for _, e := range f.ends {
		namespace := fieldIndex(t, e.namespace)
		if namespace == nil {
			return fmt.Errorf("%s has no %s beside it", at, e.namespace)
		}
		out.ends = append(out.ends, typedNamed{kind: e.kind, namespace: namespace})
	}
	n.fields = append(n.fields, out)
	return nil
}

func compileEnd(e end, t reflect.Type, at string) (typedEnd, error) {
	out := typedEnd{end: e}
	switch {
	case e.form == texts && t == rawExtension:
		out.encoded = true
	case e.form != texts && t.Kind() == reflect.String:
	case e.form == name && t.Kind() == reflect.Struct && fieldIndex(t, "name") != nil:
		out.name, out.namespace, out.objectKind = fieldIndex(t, "name"), fieldIndex(t, "namespace"), fieldIndex(t, "kind")
	default:
		return out, fmt.Errorf("%s is a %v, which has no name", at, t)
	}
	return out, nil
}

// fieldIndex returns the index of the field of a struct with a JSON name, nil if there is none.
func fieldIndex(t reflect.Type, name string) []int {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && f.IsExported() {
			return []int{i}
		}
		if tag == "" && (f.Anonymous || strings.Contains(options, "inline")) && f.Type.Kind() == reflect.Struct {
			if inner := fieldIndex(f.Type, name); inner != nil {
				return append([]int{i}, inner...)
			}
		}
	}
	return nil
}

func (n *typedNode) visit(v reflect.Value, visit Visit) {
	if n.pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	for i := range n.ends {
		n.ends[i].visit(v, visit)
	}
	for i := range n.fields {
		f := &n.fields[i]
		inner := v.FieldByIndex(f.index)
		if f.node != nil {
			f.node.visit(inner, visit)
		}
		for _, e := range f.ends {
			add(visit, e.kind, text(v.FieldByIndex(e.namespace)), text(inner))
		}
	}
	for i := range n.keys {
		n.keys[i].visit(v, visit)
	}
	if n.items != nil {
		for i := range v.Len() {
			n.items.visit(v.Index(i), visit)
		}
	}
	if n.values != nil {
		for entries := v.MapRange(); entries.Next(); {
			n.values.visit(entries.Value(), visit)
		}
	}
}

func (k *typedKey) visit(in reflect.Value, visit Visit) {
	v := in.MapIndex(k.name)
	if !v.IsValid() {
		return
	}
	if k.node != nil {
		k.node.visit(v, visit)
	}
	for _, e := range k.ends {
		namespace := ""
		if found := in.MapIndex(reflect.ValueOf(e.namespace).Convert(in.Type().Key())); found.IsValid() {
			namespace = text(found)
		}
		add(visit, e.kind, namespace, text(v))
	}
}

func (e *typedEnd) visit(v reflect.Value, visit Visit) {
	switch {
	case e.encoded:
		raw, _ := v.Interface().(runtime.RawExtension)
		visitStrings(raw.Raw, visit)
	case e.name == nil:
		namespace, name := e.split(v.String())
		add(visit, e.kind, namespace, name)
	default:
		if e.objectKind != nil {
			if kind := text(v.FieldByIndex(e.objectKind)); kind != "" && kind != e.kind.String() {
				return
			}
		}
		namespace := ""
		if e.namespace != nil {
			namespace = text(v.FieldByIndex(e.namespace))
		}
		add(visit, e.kind, namespace, text(v.FieldByIndex(e.name)))
	}
}

// text returns a string, or the one that a pointer points to.
func text(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	return v.String()
}

func add(visit Visit, kind Kind, namespace, name string) {
	if mayRefer(namespace, name) {
		visit(kind, namespace, name)
	}
}
