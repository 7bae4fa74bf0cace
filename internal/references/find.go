package references

import (
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// Reference is a reference to a ConfigMap or a Secret.
type Reference struct {
	Kind Kind
	// Namespace is empty for the namespace of the object that has the reference.
	Namespace string
	Name      string
	// Path is the place of the name.
	Path *value.Path
}

// IsPattern reports whether the name or the namespace has a placeholder.
func (r Reference) IsPattern() bool {
	return strings.Contains(r.Name, placeholder) || strings.Contains(r.Namespace, placeholder)
}

// placeholder begins a part of a name that is known later.
const placeholder = "${"

// Matches reports whether a reference may be one to the object with a namespace and a name. A placeholder stands for any text.
func (r Reference) Matches(namespace, name string) bool {
	return matches(r.Namespace, namespace) && matches(r.Name, name)
}

// matches reports whether a text fits to one with placeholders.
func matches(pattern, text string) bool {
	before, rest, found := strings.Cut(pattern, placeholder)
	if !found {
		return pattern == text
	}
	text, found = strings.CutPrefix(text, before)
	if !found {
		return false
	}
	_, rest, found = strings.Cut(rest, "}")
	if !found {
		return true
	}
	for i := 0; i <= len(text); i++ {
		if matches(rest, text[i:]) {
			return true
		}
	}
	return false
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
	if e.form == anything {
		f.strings(v, path)
		return
	}
	switch v := v.(type) {
	case string:
		f.add(e.kind, "", v, path)
	case map[string]any:
		if kind, _ := v["kind"].(string); kind == "" || kind == e.kind.String() {
			name, _ := v["name"].(string)
			namespace, _ := v["namespace"].(string)
			f.add(e.kind, namespace, name, path.Child("name"))
		}
	}
}

func (f *finder) add(kind Kind, namespace, name string, path *value.Path) {
	if namespace, name, ok := split(namespace, name); ok {
		f.found = append(f.found, Reference{kind, namespace, name, path})
	}
}

// split divides a text into a namespace and a name. ok is false if there is no name.
func split(namespace, text string) (_, name string, ok bool) {
	if before, after, found := strings.Cut(text, "/"); found && !strings.Contains(text, placeholder) {
		namespace, text = before, after
	}
	return namespace, text, text != ""
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
	if len(r.root.fields) == 0 {
		return nil
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
