package skeleton

import (
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// node is one place of the skeleton. It never changes once Build is done.
type node struct {
	properties map[string]*node // what every resource has included
	patterns   []pattern        // sorted by source
	additional *node            // the values of all other keys; nil where there are none
	positions  []*node          // items by position
	rest       *node            // the items beyond, all of them where items is one schema; nil is nothing

	verbatim bool // pruning does not look inside
	preserve bool // keys that are not specified stay
	nullable bool
	keepNull bool // pruning lets a null stay: it is nullable, or its default comes later
	nullFits bool // a null in a list passes the check
	binding  kind // the type that the check enforces; anyKind for none

	tidy      bool     // null and empty become absent, see Normalize
	within    effect   // what Default and Normalize would find below
	defaulted []string // the properties that have a default, sorted
	fallback  any      // the default, nil for none

	// What follows is for showing the skeleton and for rules about it.

	typ         string
	asTrue      bool             // stands for true, given and never refined by a schema
	embedded    bool             // x-kubernetes-embedded-resource
	intOrString bool             // x-kubernetes-int-or-string
	declared    map[string]*node // the properties that the schema names
	items       *node            // items as one schema
	tuple       []*node          // items as a list
	beyond      *node            // additionalItems
	topology    *topology        // nil for none
}

// topology is how lists and maps are merged, which the skeleton only shows.
type topology struct {
	listType, mapType string
	listMapKeys       []string
}

type pattern struct {
	source  string
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
	leaveAlone = &node{verbatim: true, nullable: true, keepNull: true, nullFits: true}
)

// extend reads what the node of the schema outside of logic says about a place
// whose children are there.
func (n *node) extend(s *schema.Schema) {
	n.verbatim = schema.IsTrue(s.NoPrune)
	n.intOrString = s.IntOrString
	if s.Default != nil {
		n.fallback = s.Default
		n.keepNull = true
	}
	n.tidy = s.Normalize != nil && *s.Normalize == normalizeUndefined
	if s.ListType != "" || s.MapType != "" || len(s.ListMapKeys) > 0 {
		n.topology = &topology{s.ListType, s.MapType, slices.Clone(s.ListMapKeys)}
	}
	if s.EmbeddedResource {
		n.embedded = true
		n.addResourceFields()
	}
	if schema.IsTrue(s.PreserveUnknownFields) {
		n.preserveUnknown()
	}
}

// addResourceFields specifies what every Kubernetes object has. The fields are
// Kubernetes' own, whatever the schema says about them.
func (n *node) addResourceFields() {
	n.properties = make(map[string]*node, len(n.declared)+3)
	maps.Copy(n.properties, n.declared)
	n.properties["apiVersion"] = metaString
	n.properties["kind"] = metaString
	n.properties["metadata"] = objectMeta
}

// preserveUnknown keeps keys that are not specified. On a list the items are
// meant, as upstream has it, so they get variants of their nodes.
func (n *node) preserveUnknown() {
	n.preserve = true
	n.positions = slices.Clone(n.positions)
	for i, item := range n.positions {
		n.positions[i] = item.preserved()
	}
	if n.rest == nil {
		n.rest = leaveAlone
	} else {
		n.rest = n.rest.preserved()
	}
}

func (n *node) preserved() *node {
	if n.preserve || n.verbatim {
		return n
	}
	c := *n
	c.preserveUnknown()
	return &c
}

// note records what Default and Normalize find in a child.
func (n *node) note(c *node) *node {
	n.within |= c.within
	if c.fallback != nil {
		n.within |= hasDefaults
	}
	if c.tidy {
		n.within |= hasTidy
	}
	return c
}
