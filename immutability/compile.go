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
//
// The layers are marks that are judged by themselves, see [AddMarks]. A layer about a field that the schema does not have has
// no effect.
func Compile(s *schema.Schema, layers ...Mark) (*Policy, error) {
	c := &compiler{marker: Effective}
	return c.policy(s, layers)
}

// CompileBuiltIn is Compile for the published schema of a built-in kind. It compares values as Declare does, and apiVersion and
// kind have no rule. A default that is zero says that the kind does not tell zero and absent apart.
func CompileBuiltIn(s *schema.Schema, layers ...Mark) (*Policy, error) {
	c := &compiler{marker: Effective, builtIn: true}
	return c.policy(s, layers)
}

// policy compiles a schema and layers.
func (c *compiler) policy(s *schema.Schema, marks []Mark) (*Policy, error) {
	if s == nil {
		s = &schema.Schema{}
	}
	p := &Policy{root: c.node(schema.Child{Schema: s}, nil), comparison: value.NewComparison(value.Strict)}
	for _, m := range marks {
		if l, ok := c.layer(s, m); ok {
			p.layers = append(p.layers, l)
		}
	}
	if len(c.errors) > 0 {
		c.errors.Sort()
		return nil, c.errors
	}
	if p.root == nil && len(p.layers) == 0 {
		return nil, nil
	}
	if p.root == nil {
		p.root = &node{checked: true}
	}
	if c.builtIn {
		p.comparison = value.NewComparison(value.BuiltIn)
		return p, nil
	}
	p.root.isRoot = true
	c.fixType(p.root)
	return p, nil
}

type compiler struct {
	errors schema.Errors
	// marker returns the marker that counts at a node.
	marker func(*schema.Schema) Marker
	// builtIn means that the schema is the one of a built-in kind.
	builtIn bool
	// below is true under a marked node if its values are compared as a whole.
	// There, the compiler needs only the types of lists.
	below bool
}

// node compiles a child of the schema at parent. It returns nil if the policy
// does not need it.
func (c *compiler) node(at schema.Child, parent *value.Path) *node {
	s := at.Schema
	if isLeaf(s) && c.marker(s) == Free {
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
		n.marker = c.marker(s)
		if at.Edge == schema.Property { // the value of a key exists although it is zero
			n.zero = c.zero(s)
		}
	}
	outer := c.below
	c.below = outer || n.marker.has(NoModify) || n.marker != Free && n.list == setList
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

// Effective returns the marker of s, without constraints about keys if s has no keys.
func Effective(s *schema.Schema) Marker { return effective(s, MarkerOf(s)) }

func effective(s *schema.Schema, m Marker) Marker {
	if m = m.reduced(); m.has(ImmutableKeys) && !HasKeys(s) {
		return m &^ ImmutableKeys
	}
	return m
}

// zero returns the default of a built-in kind if it is the zero value of its type.
func (c *compiler) zero(s *schema.Schema) any {
	if !c.builtIn {
		return nil
	}
	for _, zero := range []any{"", false, int64(0)} {
		if s.Default != nil && value.Strict.Equal(s.Default, zero) {
			return zero
		}
	}
	return nil
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
