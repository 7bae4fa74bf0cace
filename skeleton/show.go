package skeleton

import (
	"slices"

	"holdfast.dev/holdfast/schema"
)

// Schema shows the skeleton as a schema of its own: the types, the structure,
// nullable, and the extensions that steer structure. A type is shown also where
// it does not bind. Building the schema that is returned gives this skeleton's
// schema again.
func (sk *Skeleton) Schema() *schema.Schema { return sk.root.show() }

func (n *node) show() *schema.Schema {
	if n == nil {
		return nil
	}
	out := &schema.Schema{
		Type:                 n.typ,
		Nullable:             n.nullable,
		Properties:           showAll(n.declared),
		AdditionalProperties: showOrBool(n.additional, n.anyKey),
		Items:                n.items.show(),
		AdditionalItems:      showOrBool(n.beyond, n.anyRest),
	}
	for _, p := range n.patterns {
		if out.PatternProperties == nil {
			out.PatternProperties = make(map[string]*schema.Schema, len(n.patterns))
		}
		out.PatternProperties[p.source] = p.value.show()
	}
	for _, item := range n.tuple {
		out.Tuple = append(out.Tuple, item.show())
	}
	if n.spine != nil {
		showExtensions(n.spine, out)
	}
	return out
}

func showExtensions(spine, out *schema.Schema) {
	yes := true
	if schema.IsTrue(spine.NoPrune) {
		out.NoPrune = &yes
	}
	if schema.IsTrue(spine.PreserveUnknownFields) {
		out.PreserveUnknownFields = &yes
	}
	out.EmbeddedResource = spine.EmbeddedResource
	out.IntOrString = spine.IntOrString
	out.ListType = spine.ListType
	if len(spine.ListMapKeys) > 0 {
		out.ListMapKeys = slices.Clone(spine.ListMapKeys)
	}
	out.MapType = spine.MapType
}

func showAll(nodes map[string]*node) map[string]*schema.Schema {
	if len(nodes) == 0 {
		return nil
	}
	out := make(map[string]*schema.Schema, len(nodes))
	for name, n := range nodes {
		out[name] = n.show()
	}
	return out
}

func showOrBool(n *node, asTrue bool) *schema.SchemaOrBool {
	switch {
	case n == nil:
		return nil
	case asTrue:
		return &schema.SchemaOrBool{Allows: true}
	}
	return &schema.SchemaOrBool{Schema: n.show(), Allows: true}
}
