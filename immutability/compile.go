package immutability

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Compile returns the policy of a schema, nil for a schema without markers. A
// marker that [Validate] refuses has no effect: at the root, in the metadata, inside
// of allOf, anyOf, oneOf or not, or about keys on a node without keys. A marker below
// an immutable node has no effect either.
//
// In a policy that is not nil, apiVersion and kind are immutable too. The error is
// a [schema.Errors]: it names patternProperties with markers that are not regular
// expressions.
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
	// below is true under a marked node if its values are compared as a whole.
	// There, the compiler needs only the types of lists.
	below bool
}

// node compiles a child of the schema at parent. It returns nil if the policy
// does not need it.
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
		n.marker = Effective(s)
	}
	outer := c.below
	c.below = outer || n.marker == Immutable || n.marker != Free && n.list == setList
	needed := c.children(n, at, path)
	shape := c.below && n.list != atomicList
	c.below = outer

	n.checked = n.checked || n.marker != Free
	if !n.checked && !needed && !shape {
		return nil
	}
	c.patterns(n, at, path)
	n.finish()
	return n
}

// isLeaf reports whether s has no children and no list type.
func isLeaf(s *schema.Schema) bool {
	return len(s.Properties) == 0 && len(s.PatternProperties) == 0 && s.AdditionalProperties == nil &&
		s.Items == nil && len(s.Tuple) == 0 && s.AdditionalItems == nil && s.ListType == ""
}

// Effective returns the marker of s, Free for a marker about keys if s has no keys.
func Effective(s *schema.Schema) Marker {
	m := MarkerOf(s)
	if m == Immutable || HasKeys(s) {
		return m
	}
	return Free
}

// children compiles the children of n and reports whether the policy needs one.
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
		n.checked = n.checked || below != nil && below.checked
	}
	return needed
}

// patterns compiles the regular expressions of n, in the order in which Children
// yields them.
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

// finish sets the fields of n that depend on its children.
func (n *node) finish() {
	for _, name := range slices.Sorted(maps.Keys(n.props)) {
		below := n.props[name]
		if below != nil && below.checked {
			n.walk = append(n.walk, property{name, below})
		}
		// The value of a property without a node is compared as it is. If there are
		// patterns or additionalProperties, the property stays in props. Without the
		// entry, child would compare the value by their nodes.
		if below == nil && len(n.patterns) == 0 && n.rest == nil {
			delete(n.props, name)
		}
	}
	n.isPlain = n.canonical == nil && n.list == atomicList && (n.checked || !n.hasOwnRule) &&
		len(n.props) == 0 && len(n.patterns) == 0 && n.rest == nil &&
		n.items == nil && n.tuple == nil && n.moreItems == nil
}

// fixType makes apiVersion and kind immutable.
func (c *compiler) fixType(root *node) {
	if root.props == nil {
		root.props = map[string]*node{}
	}
	for _, name := range []string{"kind", "apiVersion"} {
		fixed := &node{marker: Immutable, checked: true, declared: (*value.Path)(nil).Child("properties").Key(name)}
		root.props[name] = fixed
		root.walk = slices.Insert(root.walk, 0, property{name, fixed})
	}
}
