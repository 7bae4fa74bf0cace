package skeleton

import (
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// node is one place of the skeleton as prune and check read it.
type node struct {
	properties map[string]*node // implicit ones included
	patterns   []pattern
	additional *node
	tuple      []*node // items by position
	rest       *node   // the items beyond, all of them where items is one schema; nil is nothing

	verbatim bool // pruning does not look inside
	preserve bool // keys that are not specified stay
	keepNull bool // a null stays: it is nullable, or its default comes later
	nullFits bool // a null in a list passes the check
	binding  kind // the type that the check enforces; anyKind for none

	fallback any    // the default, nil for none
	tidy     bool   // null and empty become absent, see Normalize
	within   effect // what Default and Normalize would find here and below
}

type pattern struct {
	matches *regexp.Regexp // nil matches every key
	value   *node
}

// effect says which walks have anything to do in a subtree.
type effect uint8

const (
	hasDefaults effect = 1 << iota
	hasTidy
)

var (
	// nothing specifies no keys: objects are pruned to {}, lists keep their items.
	nothing = &node{nullFits: true}
	// leaveAlone keeps whatever it is asked about.
	leaveAlone = &node{verbatim: true, keepNull: true, nullFits: true}
)

func compileRoot(s *shape) *node {
	n := compile(s)
	if s.spine == nil || !s.spine.EmbeddedResource {
		n.addResourceFields()
	}
	return n
}

func compile(s *shape) *node {
	n := &node{
		properties: compileAll(s.properties),
		patterns:   compilePatterns(s.patterns),
		nullFits:   s.nullFits || s.typ == "" || !s.binds,
	}
	if s.additional != nil {
		n.additional = compile(s.additional)
	}
	if s.binds {
		n.binding = kindNamed(s.typ)
	}
	n.compileList(s)
	n.keepNull = s.nullable
	if s.spine != nil {
		n.compileSpine(s.spine)
	}
	n.within |= n.childEffects()
	return n
}

func (n *node) compileList(s *shape) {
	n.rest = nothing
	switch {
	case s.items != nil && len(s.tuple) > 0:
		n.rest = leaveAlone
		return
	case s.items != nil:
		n.rest = compile(s.items)
		return
	case len(s.tuple) == 0:
		return
	}
	for _, item := range s.tuple {
		n.tuple = append(n.tuple, compile(item))
	}
	if s.rest != nil {
		n.rest = compile(s.rest)
	}
}

func (n *node) compileSpine(s *schema.Schema) {
	n.verbatim = schema.IsTrue(s.NoPrune)
	if s.Default != nil {
		n.fallback = s.Default
		n.keepNull = true
	}
	n.tidy = s.Normalize != nil && *s.Normalize == normalizeUndefined
	if s.EmbeddedResource {
		n.addResourceFields()
	}
	if schema.IsTrue(s.PreserveUnknownFields) {
		n.preserveUnknown()
	}
}

// addResourceFields specifies what every Kubernetes object has. The fields are
// Kubernetes' own, whatever the schema says about them.
func (n *node) addResourceFields() {
	properties := make(map[string]*node, len(n.properties)+3)
	maps.Copy(properties, n.properties)
	properties["apiVersion"] = metaString
	properties["kind"] = metaString
	properties["metadata"] = objectMeta
	n.properties = properties
}

// preserveUnknown keeps keys that are not specified. On a list the items are
// meant, as upstream has it, so they become nodes of their own.
func (n *node) preserveUnknown() {
	n.preserve = true
	for i, item := range n.tuple {
		n.tuple[i] = item.preserved()
	}
	n.rest = n.rest.preserved()
}

func (n *node) preserved() *node {
	switch {
	case n == nothing:
		return leaveAlone
	case n.preserve || n.verbatim:
		return n
	}
	c := *n
	c.tuple = slices.Clone(n.tuple)
	c.preserveUnknown()
	return &c
}

func compileAll(shapes map[string]*shape) map[string]*node {
	if len(shapes) == 0 {
		return nil
	}
	out := make(map[string]*node, len(shapes))
	for name, s := range shapes {
		out[name] = compile(s)
	}
	return out
}

// compilePatterns sorts the patterns, so that answers do not depend on the
// order of a map.
func compilePatterns(shapes map[string]*shape) []pattern {
	var out []pattern
	for _, source := range slices.Sorted(maps.Keys(shapes)) {
		matches, err := regexp.Compile(source)
		if err != nil {
			matches = nil
		}
		out = append(out, pattern{matches, compile(shapes[source])})
	}
	return out
}

func (n *node) childEffects() (e effect) {
	add := func(c *node) {
		if c == nil {
			return
		}
		e |= c.within
		if c.fallback != nil {
			e |= hasDefaults
		}
		if c.tidy {
			e |= hasTidy
		}
	}
	for _, c := range n.properties {
		add(c)
	}
	for _, p := range n.patterns {
		add(p.value)
	}
	add(n.additional)
	for _, c := range n.tuple {
		add(c)
	}
	add(n.rest)
	return e
}
