package references

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/value"
)

// BuiltInResources returns the resources that BuiltIn has rules for.
func BuiltInResources() []schema.GroupResource {
	return slices.SortedFunc(maps.Keys(builtIn()), func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
}

// Places returns the places of the rules, and of the namespaces that they name.
func (r *Rules) Places() []*value.Path { return r.root.places(nil) }

func (n *node) places(at *value.Path) []*value.Path {
	var all []*value.Path
	if len(n.ends) > 0 {
		all = append(all, at)
	}
	for _, f := range n.fields {
		if f.node != nil {
			all = append(all, f.node.places(at.Child(f.name))...)
		}
		for _, e := range f.ends {
			all = append(all, at.Child(f.name), at.Child(e.namespace))
		}
	}
	if n.items != nil {
		all = append(all, n.items.places(at.Append(value.Step{Kind: value.AnyItem}))...)
	}
	if n.values != nil {
		all = append(all, n.values.places(at.Append(value.Step{Kind: value.AnyName}))...)
	}
	return all
}
