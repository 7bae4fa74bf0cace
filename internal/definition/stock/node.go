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

func (n *node) isList() bool { return n.Schema.Type == "array" }
func (n *node) isMap() bool  { return n.Schema.IsMap() }

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

// isUntyped reports whether the schema does not say the type of the values of n.
func (n *node) isUntyped() bool { return n.Schema.Type == "" && !n.Schema.IntOrString }

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
		n.isUntyped()
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

// target is a rule to compile.
type target struct {
	*node
	marker immutability.Marker
	// mark is the line of the annotation, nil for a marker of the schema. A mark may have a condition.
	mark *immutability.Mark
}

// targets returns the rules of a schema, in its order, and then the given marks of its version.
func targets(root *node, marks []immutability.Mark) []target {
	var found []target
	visit(root, func(n *node) bool {
		if marker := immutability.Effective(n.Schema); marker != immutability.Free && n.parent != nil && !n.isListKey() {
			found = append(found, target{node: n, marker: marker})
		}
		// The rule for a whole value forbids the changes that rules below it forbid.
		return n.parent == nil || immutability.Effective(n.Schema) != immutability.Immutable
	})
	for i := range marks {
		at := marks[i].SchemaNode(root.Schema)
		visit(root, func(n *node) bool {
			if at != nil && n.Schema == at && !n.isListKey() {
				found = append(found, target{node: n, marker: marks[i].Marker, mark: &marks[i]})
			}
			return true
		})
	}
	return found
}

// visit calls a function for n and the nodes below it, as long as the function returns true. Nodes
// without rules are left out: those below a list of type set, whose items never change, only come and
// go. For the same reason, a key of a list of type map needs no rule: an item with another key is
// another item.
func visit(n *node, each func(*node) bool) {
	if !each(n) || n.isList() && n.Schema.ListType == "set" {
		return
	}
	for _, child := range n.children() {
		visit(child, each)
	}
}
