package stock

import (
	"maps"
	"slices"

	"k8s.io/apiserver/pkg/cel"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// node is a node of a schema, with its path and its parent.
type node struct {
	schema.Child
	path   *value.Path
	parent *node
}

// rootNode returns the root of a schema as a node.
func rootNode(s *schema.Schema) *node { return &node{Child: schema.Child{Schema: s}} }

// child returns a child of n.
func (n *node) child(c schema.Child) *node {
	return &node{Child: c, path: c.Path(n.path), parent: n}
}

func (n *node) property(name string) *node {
	return n.child(schema.Child{Schema: n.Schema.Properties[name], Edge: schema.Property, Name: name})
}

// values returns the node of the values of a map, nil if their schema is unknown.
func (n *node) values() *node {
	if n.Schema.AdditionalProperties == nil || n.Schema.AdditionalProperties.Schema == nil {
		return nil
	}
	return n.child(schema.Child{Schema: n.Schema.AdditionalProperties.Schema, Edge: schema.AdditionalProperty})
}

// items returns the node of the items of a list.
func (n *node) items() *node {
	return n.child(schema.Child{Schema: n.Schema.Items, Edge: schema.Item})
}

// children returns the nodes below n, properties sorted by name.
func (n *node) children() []*node {
	var all []*node
	for _, name := range slices.Sorted(maps.Keys(n.Schema.Properties)) {
		all = append(all, n.property(name))
	}
	if values := n.values(); values != nil {
		all = append(all, values)
	}
	if n.isList() && n.Schema.Items != nil {
		all = append(all, n.items())
	}
	return all
}

func (n *node) marker() immutability.Marker { return immutability.MarkerOf(n.Schema) }
func (n *node) isList() bool                { return n.Schema.Type == "array" }
func (n *node) isMap() bool                 { return n.Schema.IsMap() }

// isRequired reports whether every valid object has the property n.
func (n *node) isRequired() bool { return slices.Contains(n.parent.Schema.Required, n.Name) }

// isListKey reports whether n is a key of the items of a list of type map.
func (n *node) isListKey() bool {
	if n.Edge != schema.Property || n.parent.Edge != schema.Item {
		return false
	}
	list := n.parent.parent.Schema
	return list.ListType == "map" && slices.Contains(list.ListMapKeys, n.Name)
}

// isScalar reports whether the values of n are strings, numbers or booleans.
func (n *node) isScalar() bool {
	return n.Schema.IntOrString || slices.Contains([]string{"string", "integer", "number", "boolean"}, n.Schema.Type)
}

// isExposed reports whether CEL rules in a schema can use the values of n. It follows
// SchemaDeclType of k8s.io/apiserver/pkg/cel/common.
func (n *node) isExposed() bool {
	switch {
	case n.isScalar():
		return true
	case n.isList():
		return n.Schema.Items != nil && n.items().isExposed()
	case n.Schema.Type != "object":
		return false
	case n.values() != nil:
		return n.values().isExposed()
	}
	// A map whose values have no schema has the type of an object without properties.
	return !n.isMap()
}

// keepsUnknown reports whether values of n may have fields that the schema does not name.
func (n *node) keepsUnknown() bool {
	s := n.Schema
	return schema.IsTrue(s.PreserveUnknownFields) || s.EmbeddedResource ||
		s.AdditionalProperties != nil && s.AdditionalProperties.Allows && s.AdditionalProperties.Schema == nil ||
		s.Type == "" && !s.IntOrString
}

// find returns the first node at or below n for which match returns true, or nil.
func (n *node) find(match func(*node) bool) *node {
	if match(n) {
		return n
	}
	for _, child := range n.children() {
		if found := child.find(match); found != nil {
			return found
		}
	}
	return nil
}

// identifier returns the name of a property in a CEL rule of a schema. ok is false if CEL cannot
// name the property.
func identifier(name string) (escaped string, ok bool) { return cel.Escape(name) }

// targets returns the nodes whose markers need a rule, in the order of the schema. A marker below
// an immutable node or below a list of type set needs none, because the rule for the whole value
// forbids the change. A marker on a key of a list of type map needs none, because an item with
// another key is another item.
func targets(root *node) []*node {
	var found []*node
	var walk func(n *node)
	walk = func(n *node) {
		if n.marker() != immutability.Free && !n.isListKey() {
			found = append(found, n)
		}
		if n.marker() == immutability.Immutable || n.isList() && n.Schema.ListType == "set" {
			return
		}
		for _, child := range n.children() {
			walk(child)
		}
	}
	walk(root)
	return found
}
