package skeleton

import (
	"reflect"
	"testing"
)

// TestLeafHasAllFields checks that two nodes share one only if all their fields are equal: each field of a node is either part of a leaf, or
// makes the node no leaf.
func TestLeafHasAllFields(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[node]().NumField() {
		field := reflect.TypeFor[node]().Field(i)
		b := &builder{leaves: map[leaf]*node{}}
		plain, other := b.shared(&node{}), &node{}
		set(t, other, field.Name)
		if b.shared(other) == plain {
			t.Errorf("a node with the field %s shares one without it", field.Name)
		}
	}
	b := &builder{leaves: map[leaf]*node{}}
	text := func() *node { return &node{typ: "string", nullable: true} }
	if first := b.shared(text()); b.shared(text()) != first {
		t.Error("two equal leaves are two nodes")
	}
}

// set sets a field of a node to another value than zero.
func set(t *testing.T, n *node, field string) {
	t.Helper()
	child := &node{}
	switch field {
	case "properties":
		n.properties = map[string]*node{}
	case "patterns":
		n.patterns = []pattern{{}}
	case "additional":
		n.additional = child
	case "positions":
		n.positions = []*node{child}
	case "rest":
		n.rest = child
	case "verbatim":
		n.verbatim = true
	case "preserve":
		n.preserve = true
	case "nullable":
		n.nullable = true
	case "keepNull":
		n.keepNull = true
	case "nullFits":
		n.nullFits = true
	case "binding":
		n.binding = anyKind + 1
	case "normalized":
		n.normalized = true
	case "within":
		n.within = hasDefaults
	case "defaulted":
		n.defaulted = []string{"a"}
	case "fallback":
		n.fallback = "a"
	case "typ":
		n.typ = "string"
	case "asTrue":
		n.asTrue = true
	case "embedded":
		n.embedded = true
	case "intOrString":
		n.intOrString = true
	case "declared":
		n.declared = map[string]*node{}
	case "items":
		n.items = child
	case "tuple":
		n.tuple = []*node{child}
	case "beyond":
		n.beyond = child
	case "topology":
		n.topology = &topology{}
	default:
		t.Fatalf("set does not know the field %s", field)
	}
}
