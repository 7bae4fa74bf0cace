package skeleton

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// Schema returns the skeleton as a schema: the types, the structure, nullable, and the
// extensions about structure. It has types that do not bind too. If a skeleton is
// built from the returned schema, its Schema is equal to the returned schema.
func (sk *Skeleton) Schema() *schema.Schema {
	return sk.root.show(func(n *node) string { return n.typ })
}

// Binding returns Schema with only the types that bind.
func (sk *Skeleton) Binding() *schema.Schema {
	return sk.root.show(func(n *node) string { return n.binding.String() })
}

// Fields returns the names of the fields that the schema has at its root, sorted.
func (sk *Skeleton) Fields() []string { return slices.Sorted(maps.Keys(sk.root.declared)) }

func (n *node) show(typeOf func(*node) string) *schema.Schema {
	if n == nil {
		return nil
	}
	out := &schema.Schema{
		Type:                 typeOf(n),
		Nullable:             n.nullable,
		AdditionalProperties: n.additional.showOrTrue(typeOf),
		Items:                n.items.show(typeOf),
		AdditionalItems:      n.beyond.showOrTrue(typeOf),
		EmbeddedResource:     n.embedded,
		IntOrString:          n.intOrString,
	}
	if len(n.declared) > 0 {
		out.Properties = make(map[string]*schema.Schema, len(n.declared))
	}
	for name, c := range n.declared {
		out.Properties[name] = c.show(typeOf)
	}
	if len(n.patterns) > 0 {
		out.PatternProperties = make(map[string]*schema.Schema, len(n.patterns))
	}
	for _, p := range n.patterns {
		out.PatternProperties[p.source] = p.value.show(typeOf)
	}
	for _, item := range n.tuple {
		out.Tuple = append(out.Tuple, item.show(typeOf))
	}
	if n.verbatim {
		out.NoPrune = new(true)
	}
	if n.preserve {
		out.PreserveUnknownFields = new(true)
	}
	if t := n.topology; t != nil {
		out.ListType, out.MapType, out.ListMapKeys = t.listType, t.mapType, slices.Clone(t.listMapKeys)
	}
	return out
}

func (n *node) showOrTrue(typeOf func(*node) string) *schema.SchemaOrBool {
	switch {
	case n == nil:
		return nil
	case n.asTrue:
		return &schema.SchemaOrBool{Allows: true}
	}
	return &schema.SchemaOrBool{Schema: n.show(typeOf), Allows: true}
}
