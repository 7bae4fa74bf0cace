package references

import (
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// Reference is a reference to a ConfigMap or a Secret.
type Reference struct {
	Kind Kind
	// Namespace is empty for the namespace of the object that has the reference. If that object has none, it may be any namespace.
	Namespace string
	Name      string
	// Path is the place of the name.
	Path *value.Path
}

// Find returns the references of a decoded JSON object, in the order of the rules and of the lists. It sorts the keys of maps.
func (r *Rules) Find(object map[string]any) []Reference {
	f := finder{}
	if r.strings {
		f.strings(object, nil)
		return f.found
	}
	f.visit(&r.root, object, nil)
	return f.found
}

type finder struct{ found []Reference }

func (f *finder) visit(n *node, v any, path *value.Path) {
	for _, e := range n.ends {
		f.end(e, v, path)
	}
	switch v := v.(type) {
	case map[string]any:
		for i := range n.fields {
			f.field(&n.fields[i], v, path)
		}
		if n.values != nil {
			for _, key := range slices.Sorted(maps.Keys(v)) {
				f.visit(n.values, v[key], path.Child(key))
			}
		}
	case []any:
		if n.items != nil {
			for i, item := range v {
				f.visit(n.items, item, path.Index(i))
			}
		}
	}
}

func (f *finder) field(in *field, object map[string]any, path *value.Path) {
	v, ok := object[in.name]
	if !ok {
		return
	}
	path = path.Child(in.name)
	if in.node != nil {
		f.visit(in.node, v, path)
	}
	for _, e := range in.ends {
		name, _ := v.(string)
		namespace, _ := object[e.namespace].(string)
		f.add(e.kind, namespace, name, path)
	}
}

func (f *finder) end(e end, v any, path *value.Path) {
	if e.form == texts {
		f.strings(v, path)
		return
	}
	switch v := v.(type) {
	case string:
		namespace, name := e.split(v)
		f.add(e.kind, namespace, name, path)
	case map[string]any:
		if kind, _ := v["kind"].(string); kind == "" || kind == e.kind.String() {
			name, _ := v["name"].(string)
			namespace, _ := v["namespace"].(string)
			f.add(e.kind, namespace, name, path.Child("name"))
		}
	}
}

func (f *finder) add(kind Kind, namespace, name string, path *value.Path) {
	if mayRefer(namespace, name) {
		f.found = append(f.found, Reference{kind, namespace, name, path})
	}
}

// strings adds every string below a value that may be a name: values, and keys of maps.
func (f *finder) strings(v any, path *value.Path) {
	switch v := v.(type) {
	case string:
		if MayBeName(v) {
			f.found = append(f.found, Reference{Either, "", v, path})
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := path.Child(key)
			if MayBeName(key) {
				f.found = append(f.found, Reference{Either, "", key, inner})
			}
			f.strings(v[key], inner)
		}
	case []any:
		for i, item := range v {
			f.strings(item, path.Index(i))
		}
	}
}

// Visit calls a function for each reference of an object that is encoded as JSON. It is the cheap form of Find, without places. The function
// may be called several times for a reference.
func (r *Rules) Visit(text []byte, visit Visit) error {
	if r.strings {
		visitStrings(text, visit)
		return nil
	}
	if r.root.isEmpty() {
		return nil // do not decode
	}
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		return err
	}
	for _, found := range r.Find(object) {
		visit(found.Kind, found.Namespace, found.Name)
	}
	return nil
}

// Visit is called with a reference. The namespace is empty for that of the object.
type Visit func(kind Kind, namespace, name string)
