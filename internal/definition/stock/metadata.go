package stock

import (
	"fmt"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// metadataRule returns the expression of a policy for a rule about labels or annotations. An absent map
// counts as empty, and so does null: a server-side apply of a custom resource with an empty map makes null of it.
func metadataRule(m *immutability.Mark) string {
	steps := m.Path.Steps()
	object := operands{"object.metadata", "oldObject.metadata"}
	if name := steps[1].Name; len(steps) == 2 {
		return wholeMap(m.Marker, operands{object.new + "." + name, object.old + "." + name})
	}
	value := &schema.Schema{Type: "string"}
	labels := &schema.Schema{Type: "object", Nullable: true, Properties: map[string]*schema.Schema{steps[2].Name: value}}
	metadata := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{steps[1].Name: labels}}
	w := &writer{target: value, marker: m.Marker, closed: true}
	return w.properties(rootNode(metadata), object, operands{})
}

// reserved is a regular expression for the keys that no rule judges, because programs keep their own
// state there.
const reserved = `^(holdfast[.]dev|kubectl[.]kubernetes[.]io|deployment[.]kubernetes[.]io)(/|$)`

// wholeMap returns the expression for a rule about all labels, or all annotations.
func wholeMap(marker immutability.Marker, p operands) string {
	free := fmt.Sprintf("key.matches(%q)", reserved)
	has := func(operand string) string { return and("has("+operand+")", "dyn("+operand+") != null") }
	// each returns the expression that is true if every judged key of a map fulfils a condition.
	each := func(p operands, condition string) string {
		return or(not(has(p.new)), fmt.Sprintf("%s.all(key, %s)", p.new, or(free, condition)))
	}
	set := func(operand string) string {
		return and(has(operand), fmt.Sprintf("%s.exists(key, %s)", operand, not(free)))
	}
	reverse := operands{p.old, p.new}
	in := func(operand string) string { return and(has(operand), "key in "+operand) }
	noAdd, noRemove := each(p, in(p.old)), each(reverse, in(p.new))
	equal := and(noRemove, each(p, and(in(p.old), fmt.Sprintf("%s[key] == %s[key]", p.new, p.old))))
	if marker == immutability.Immutable {
		return equal
	}
	var all []string
	for _, one := range []struct {
		constraint immutability.Marker
		expression string
	}{
		{immutability.NoSet, or(not(set(p.new)), set(p.old))},
		{immutability.NoUnset, or(not(set(p.old)), set(p.new))},
		{immutability.NoModify, or(not(set(p.new)), not(set(p.old)), equal)},
		{immutability.NoRemoveItem, noRemove},
		{immutability.NoAddItem, noAdd},
	} {
		if marker&one.constraint != 0 {
			all = append(all, one.expression)
		}
	}
	return and(all...)
}
