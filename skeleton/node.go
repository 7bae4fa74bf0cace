package skeleton

import (
	"maps"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/schema"
)

// node is one node of the skeleton. It never changes after Build.
type node struct {
	properties map[string]*node // with the fields that every resource has
	patterns   []pattern        // sorted by source
	additional *node            // the values of all other keys, nil if they are not specified
	positions  []*node          // items by position
	rest       *node            // the items after positions, all if items is one schema

	verbatim bool // pruning does not change the value
	preserve bool // keys that are not specified stay
	nullable bool
	keepNull bool // pruning keeps a null: it is nullable, or Default replaces it later
	nullFits bool // a null in a list passes the check
	binding  kind // the type that the check enforces, anyKind for none

	normalized bool     // null and empty become absent, see Normalize
	within     effect   // what Default and Normalize would find below
	defaulted  []string // the properties that have a default, sorted
	fallback   any      // the default, nil for none

	// The following fields are only for Schema, Binding and Rules.

	typ         string
	asTrue      bool             // additionalProperties or additionalItems is true here, not a schema
	embedded    bool             // x-kubernetes-embedded-resource
	intOrString bool             // x-kubernetes-int-or-string
	declared    map[string]*node // the properties that the schema names
	items       *node            // items as one schema
	tuple       []*node          // items as a list
	beyond      *node            // additionalItems
	topology    *topology        // nil for none
}

// topology says how server-side apply merges lists and maps. Only Schema uses it.
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
	hasNormalized
)

var (
	// nothing is a node without keys: objects are pruned to {}, lists keep their items.
	nothing = &node{nullFits: true}
	// leaveAlone keeps every value as it is.
	leaveAlone = &node{verbatim: true, nullable: true, keepNull: true, nullFits: true}
)

// extend sets the fields that only the schema node outside of logic has. The children of
// n are complete.
func (n *node) extend(s *schema.Schema) {
	n.verbatim = schema.IsTrue(s.NoPrune)
	n.intOrString = s.IntOrString
	if s.Default != nil {
		n.fallback = s.Default
		n.keepNull = true
	}
	n.normalized = s.Normalize != nil && *s.Normalize == normalizeUndefined
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

// addResourceFields adds the fields that every Kubernetes object has. They replace those
// of the schema.
func (n *node) addResourceFields() {
	n.properties = make(map[string]*node, len(n.declared)+3)
	maps.Copy(n.properties, n.declared)
	n.properties["apiVersion"] = metaString
	n.properties["kind"] = metaString
	n.properties["metadata"] = objectMeta
}

// preserveUnknown makes pruning keep keys that are not specified. On a list it applies
// to the items, as in upstream, so they get copies of their nodes.
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

// note records what Default and Normalize have to do in a child.
func (n *node) note(c *node) *node {
	n.within |= c.within
	if c.fallback != nil {
		n.within |= hasDefaults
	}
	if c.normalized {
		n.within |= hasNormalized
	}
	return c
}
