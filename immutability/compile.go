package immutability

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Compile makes the policy of a schema, once for all checks. It is nil for a
// schema without markers. Markers where [Validate] refuses them (at the root, in
// the metadata, inside of logic, on a node without keys) have no effect, and
// neither has one below an immutable node.
//
// In a policy that is not nil, apiVersion and kind are immutable too. The error is
// [schema.Errors], for patternProperties that are no regular expressions and have
// to do with a marker.
func Compile(s *schema.Schema) (*Policy, error) {
	if s == nil {
		return nil, nil
	}
	c := &compiler{}
	root := c.node(schema.Child{Schema: s}, nil)
	if len(c.errors) > 0 {
		c.errors.Sort()
		return nil, c.errors
	}
	if root == nil {
		return nil, nil
	}
	root.isRoot = true
	c.fixType(root)
	return &Policy{root: root, comparison: value.NewComparison(value.Strict)}, nil
}

type compiler struct {
	errors schema.Errors
	// below is true under a marked node whose values are compared as wholes:
	// there only the types of lists matter.
	below bool
}

// node is what the policy has to know of the schema that a node at parent holds,
// nil for nothing.
func (c *compiler) node(at schema.Child, parent *value.Path) *node {
	s := at.Schema
	if isLeaf(s) && MarkerOf(s) == Free {
		return nil
	}
	path := at.Path(parent)
	n := &node{declared: path, isMap: s.IsMap()}
	switch {
	case s.ListType == "set":
		n.list = setList
	case s.ListType == "map" && len(s.ListMapKeys) > 0:
		n.list, n.keys = mapList, s.ListMapKeys
	}
	if at.Edge != schema.Root && !c.below {
		n.marker = effective(s)
	}
	outer := c.below
	c.below = outer || n.marker == Immutable || n.marker != Free && n.list == setList
	needed := c.children(n, at, path)
	shape := c.below && n.list != atomicList
	c.below = outer

	n.live = n.live || n.marker != Free
	if !n.live && !needed && !shape {
		return nil
	}
	c.patterns(n, at, path)
	n.finish()
	return n
}

// isLeaf says whether s holds nothing that a policy could know of.
func isLeaf(s *schema.Schema) bool {
	return len(s.Properties) == 0 && len(s.PatternProperties) == 0 && s.AdditionalProperties == nil &&
		s.Items == nil && len(s.Tuple) == 0 && s.AdditionalItems == nil && s.ListType == ""
}

// effective is the marker of s, Free if s has no keys that it could be about.
func effective(s *schema.Schema) Marker {
	m := MarkerOf(s)
	if m == Immutable || keyless(s) == "" {
		return m
	}
	return Free
}

// children compiles what lies below n and says whether anything of it is needed.
func (c *compiler) children(n *node, at schema.Child, path *value.Path) (needed bool) {
	for child := range at.Schema.Children() {
		if at.Edge == schema.Root && child.Edge == schema.Property && isReserved(child.Name) {
			continue
		}
		var below *node
		if child.Edge >= schema.Property && child.Edge <= schema.AdditionalItem {
			below = c.node(child, path)
		}
		switch child.Edge {
		case schema.Property:
			if n.props == nil {
				n.props = make(map[string]*node, len(at.Schema.Properties))
			}
			n.props[child.Name] = below
		case schema.PatternProperty:
			n.patterns = append(n.patterns, pattern{node: below})
		case schema.AdditionalProperty:
			n.rest = below
		case schema.Item:
			n.items = below
		case schema.TupleItem:
			if n.tuple == nil {
				n.tuple = make([]*node, len(at.Schema.Tuple))
			}
			n.tuple[child.Index] = below
		case schema.AdditionalItem:
			n.moreItems = below
		}
		needed = needed || below != nil
		n.live = n.live || below != nil && below.live
	}
	return needed
}

// patterns compiles the expressions of a node that is kept. Children yields them
// in the order of their text.
func (c *compiler) patterns(n *node, at schema.Child, path *value.Path) {
	if len(n.patterns) == 0 {
		return
	}
	i := 0
	for child := range at.Schema.Children() {
		if child.Edge != schema.PatternProperty {
			continue
		}
		expression, err := regexp.Compile(child.Name)
		if err != nil {
			c.errors = append(c.errors, &schema.Error{
				Path:   child.Path(path),
				Detail: fmt.Sprintf("is no regular expression: %v", err),
			})
		}
		n.patterns[i].expression = expression
		i++
	}
}

// finish settles what follows from the children of n.
func (n *node) finish() {
	for _, name := range slices.Sorted(maps.Keys(n.props)) {
		below := n.props[name]
		if below != nil && below.live {
			n.walk = append(n.walk, property{name, below})
		}
		// A property of which nothing is known still keeps the schemas of
		// other keys away from it.
		if below == nil && len(n.patterns) == 0 && n.rest == nil {
			delete(n.props, name)
		}
	}
	n.isPlain = n.canonical == nil && n.list == atomicList && (n.live || !n.owns) &&
		len(n.props) == 0 && len(n.patterns) == 0 && n.rest == nil &&
		n.items == nil && n.tuple == nil && n.moreItems == nil
}

// fixType makes apiVersion and kind immutable, which every object's are.
func (c *compiler) fixType(root *node) {
	if root.props == nil {
		root.props = map[string]*node{}
	}
	for _, name := range []string{"kind", "apiVersion"} {
		fixed := &node{marker: Immutable, live: true, declared: (*value.Path)(nil).Child("properties").Key(name)}
		root.props[name] = fixed
		root.walk = slices.Insert(root.walk, 0, property{name, fixed})
	}
}
