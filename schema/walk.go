package schema

import (
	"iter"
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// Edge says by which keyword a node has a child.
type Edge uint8

// The edges, in the order in which Children yields them.
const (
	Root               Edge = iota // the schema a walk starts at
	Property                       // properties[Name]
	PatternProperty                // patternProperties[Name]
	AdditionalProperty             // additionalProperties, given as a schema
	Item                           // items, given as one schema
	TupleItem                      // items[Index]
	AdditionalItem                 // additionalItems, given as a schema
	AllOf                          // allOf[Index]
	AnyOf                          // anyOf[Index]
	OneOf                          // oneOf[Index]
	Not                            // not
	Definition                     // definitions[Name]
	DependencySchema               // dependencies[Name], given as a schema
)

// IsLogic reports whether the edge is allOf, anyOf, oneOf or not.
func (e Edge) IsLogic() bool { return e >= AllOf && e <= Not }

// Child is a child of a node, with its edge.
type Child struct {
	Schema *Schema
	Edge   Edge
	Name   string // of a property, pattern, definition or dependency
	Index  int    // of a tuple item or a branch of logic
}

// Path returns the path of the child, given the path of its parent.
func (c Child) Path(parent *value.Path) *value.Path {
	switch c.Edge {
	case Property:
		return parent.Child("properties").Key(c.Name)
	case PatternProperty:
		return parent.Child("patternProperties").Key(c.Name)
	case AdditionalProperty:
		return parent.Child("additionalProperties")
	case Item:
		return parent.Child("items")
	case TupleItem:
		return parent.Child("items").Index(c.Index)
	case AdditionalItem:
		return parent.Child("additionalItems")
	case AllOf:
		return parent.Child("allOf").Index(c.Index)
	case AnyOf:
		return parent.Child("anyOf").Index(c.Index)
	case OneOf:
		return parent.Child("oneOf").Index(c.Index)
	case Not:
		return parent.Child("not")
	case Definition:
		return parent.Child("definitions").Key(c.Name)
	case DependencySchema:
		return parent.Child("dependencies").Key(c.Name)
	}
	return parent
}

// Children yields the children of s, sorted by edge and then by name or index. Nil
// children, which only a Schema made in Go code has, are left out.
func (s *Schema) Children() iter.Seq[Child] {
	return func(yield func(Child) bool) {
		_ = named(Property, s.Properties, yield) &&
			named(PatternProperty, s.PatternProperties, yield) &&
			orBool(AdditionalProperty, s.AdditionalProperties, yield) &&
			single(Item, s.Items, yield) &&
			listed(TupleItem, s.Tuple, yield) &&
			orBool(AdditionalItem, s.AdditionalItems, yield) &&
			listed(AllOf, s.AllOf, yield) &&
			listed(AnyOf, s.AnyOf, yield) &&
			listed(OneOf, s.OneOf, yield) &&
			single(Not, s.Not, yield) &&
			named(Definition, s.Definitions, yield) &&
			dependent(s.Dependencies, yield)
	}
}

func single(edge Edge, s *Schema, yield func(Child) bool) bool {
	return s == nil || yield(Child{Schema: s, Edge: edge})
}

func orBool(edge Edge, s *SchemaOrBool, yield func(Child) bool) bool {
	return s == nil || single(edge, s.Schema, yield)
}

func listed(edge Edge, list []*Schema, yield func(Child) bool) bool {
	for i, s := range list {
		if s != nil && !yield(Child{Schema: s, Edge: edge, Index: i}) {
			return false
		}
	}
	return true
}

func named(edge Edge, m map[string]*Schema, yield func(Child) bool) bool {
	for _, name := range sortedNames(m) {
		if s := m[name]; s != nil && !yield(Child{Schema: s, Edge: edge, Name: name}) {
			return false
		}
	}
	return true
}

// sortedNames returns the keys of a map in order. It allocates once: every walk calls it for every
// node.
func sortedNames[T any](m map[string]T) []string {
	if len(m) == 0 {
		return nil
	}
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	return names
}

func dependent(m map[string]*Dependency, yield func(Child) bool) bool {
	for _, name := range sortedNames(m) {
		d := m[name]
		if d != nil && d.Schema != nil && !yield(Child{Schema: d.Schema, Edge: DependencySchema, Name: name}) {
			return false
		}
	}
	return true
}

// Visit is a node that a walk visits. The caller may keep it; it does not change.
type Visit struct {
	Child
	// Path is the path of the node, nil for the root.
	Path *value.Path
	// Parent is the visit of the parent, nil for the root.
	Parent *Visit
	// InLogic is true for the branches of allOf, anyOf, oneOf and not, and below them.
	InLogic bool
	// Depth is the number of edges from the root.
	Depth int
}

// Walk visits s and every node below it, parents first, children in the order of
// Children. If visit returns false, the nodes below that node are not visited.
func Walk(s *Schema, visit func(*Visit) bool) {
	if s != nil {
		walk(&Visit{Child: Child{Schema: s}}, visit)
	}
}

func walk(v *Visit, visit func(*Visit) bool) {
	if !visit(v) {
		return
	}
	for c := range v.Schema.Children() {
		walk(&Visit{
			Child:   c,
			Path:    c.Path(v.Path),
			Parent:  v,
			InLogic: v.InLogic || c.Edge.IsLogic(),
			Depth:   v.Depth + 1,
		}, visit)
	}
}
