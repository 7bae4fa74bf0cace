package ownership

import (
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/value"
)

// keys are the keys by which apply finds the items of a list. An item may lack a key that has
// a default: the name of an image pull secret is "" if the item has none.
type keys struct {
	names []string
	// defaults has the default of each key, value.Absent for none.
	defaults []any
}

// keysOf returns keys with the defaults in the schema of the items.
func (v *Views) keysOf(names []string, items *spec.Schema) keys {
	k := keys{names: names, defaults: slices.Repeat([]any{value.Absent{}}, len(names))}
	if name := reference(items); name != "" && v.models[name] != nil {
		items = v.models[name]
	}
	for i, name := range names {
		if property, ok := items.Properties[name]; ok && property.Default != nil {
			k.defaults[i] = property.Default
		}
	}
	return k
}

// keyDefault returns the default of a key of the items of a list at n, value.Absent for none.
func (n *node) keyDefault(name string) any {
	if n == nil {
		return value.Absent{}
	}
	if i := slices.Index(n.keys.names, name); i >= 0 && i < len(n.keys.defaults) {
		return n.keys.defaults[i]
	}
	return value.Absent{}
}

// complete returns an item with the defaults of the keys that it lacks. It returns the item
// itself if no key with a default is missing.
func (k keys) complete(item map[string]any) map[string]any {
	out := item
	for i, absent := range k.defaults {
		if isAbsent(absent) || !isAbsent(field(item, k.names[i])) {
			continue
		}
		if value.SameObject(out, item) {
			if out = maps.Clone(item); out == nil {
				out = map[string]any{}
			}
		}
		out[k.names[i]] = absent
	}
	return out
}

// completeAll returns a list with complete items. It returns the list itself if all items are
// complete.
func (k keys) completeAll(list []any) []any {
	out := list
	for i, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		if complete := k.complete(object); !value.SameObject(complete, object) {
			if value.SameList(out, list) {
				out = slices.Clone(list)
			}
			out[i] = complete
		}
	}
	return out
}
