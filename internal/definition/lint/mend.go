package lint

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// mend is a fix that does not change the meaning of a definition.
type mend struct {
	text  string
	edits []manifest.Edit
}

// safeEdits returns the safe fixes for a definition, by the path of the keyword that is
// wrong. They remove keywords without an effect, and replace or complete keywords whose
// meaning is clear. A fix that needs a decision of the author is not here.
func safeEdits(crd *definition.CustomResourceDefinition) map[string]*mend {
	found := mends{}
	for i := range crd.Spec.Versions {
		s, _, err := crd.Spec.Versions[i].DecodeSchema()
		if err != nil || s == nil {
			continue
		}
		root := fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i)
		schema.Walk(s, func(v *schema.Visit) bool {
			at := node{Visit: v, root: root, found: found}
			at.falseFlags()
			at.nestedNoPrune()
			at.closedObject()
			at.markers()
			at.constraints()
			return true
		})
	}
	return found
}

type mends map[string]*mend

// node is a node of a schema whose fixes are collected in found.
type node struct {
	*schema.Visit
	root  string
	found mends
}

// path returns the path of a keyword of the node in the definition.
func (n node) path(keyword string) string { return n.pathOf(n.Path.Child(keyword)) }

func (n node) pathOf(path *value.Path) string {
	return n.root + "." + value.Notation{Kubernetes: true}.Path(path)
}

// remove records that a keyword can be removed.
func (n node) remove(keyword, reason string) {
	path := n.path(keyword)
	n.found[path] = &mend{
		text:  fmt.Sprintf("remove %s%s", keyword, reason),
		edits: []manifest.Edit{{Action: manifest.Remove, Path: path}},
	}
}

// falseFlags removes keywords that must be true or absent.
func (n node) falseFlags() {
	for keyword, flag := range map[string]*bool{
		schema.ImmutableKeyword:             n.Schema.Immutable,
		schema.ImmutableKeysKeyword:         n.Schema.ImmutableKeys,
		schema.AdditionOnlyKeyword:          n.Schema.AdditionOnly,
		schema.DeletionOnlyKeyword:          n.Schema.DeletionOnly,
		schema.NoPruneKeyword:               n.Schema.NoPrune,
		schema.PreserveUnknownFieldsKeyword: n.Schema.PreserveUnknownFields,
	} {
		if flag != nil && !*flag {
			n.remove(keyword, "")
		}
	}
}

// nestedNoPrune removes x-kubernetes-no-prune below another one.
func (n node) nestedNoPrune() {
	if n.InLogic || !schema.IsTrue(n.Schema.NoPrune) {
		return
	}
	for up := n.Parent; up != nil; up = up.Parent {
		if schema.IsTrue(up.Schema.NoPrune) {
			n.remove(schema.NoPruneKeyword, ": the one around it covers this field")
		}
	}
}

// closedObject removes additionalProperties: false beside properties, which says nothing
// new where unknown fields are pruned.
func (n node) closedObject() {
	a := n.Schema.AdditionalProperties
	if a != nil && a.Schema == nil && !a.Allows && len(n.Schema.Properties) > 0 && !n.InLogic {
		n.remove("additionalProperties", ": unknown fields are pruned anyway")
	}
}

// markers fixes markers that are refused.
func (n node) markers() {
	s := n.Schema
	marker := immutability.MarkerOf(s)
	given := 0
	for _, other := range []struct {
		marker immutability.Marker
		flag   *bool
	}{
		{immutability.Immutable, s.Immutable},
		{immutability.ImmutableKeys, s.ImmutableKeys},
		{immutability.AdditionOnly, s.AdditionOnly},
		{immutability.DeletionOnly, s.DeletionOnly},
	} {
		if !schema.IsTrue(other.flag) {
			continue
		}
		given++
		if other.marker != marker && marker.Covers(other.marker) {
			n.remove(other.marker.Keyword(), fmt.Sprintf(": %s covers it", marker.Keyword()))
		}
	}
	switch {
	case given != 1 || marker == immutability.Immutable:
	case s.ListType == "set" && marker == immutability.ImmutableKeys:
		path := n.path(marker.Keyword())
		n.found[path] = &mend{
			text:  fmt.Sprintf("rename it to %s", schema.ImmutableKeyword),
			edits: []manifest.Edit{{Action: manifest.Rename, Path: path, Name: schema.ImmutableKeyword}},
		}
	case s.ListType == "map":
		n.keys(marker)
	}
}

// constraints names the constraints that a misspelled name probably means. This is no edit: another constraint
// changes the meaning.
func (n node) constraints() {
	if fixes := misspelledConstraints(n.Schema.Update); len(fixes) > 0 {
		n.found[n.path(schema.UpdateKeyword)] = &mend{text: strings.Join(fixes, "; ")}
	}
}

// keys marks the keys of a list of type map. They identify its items, so they cannot
// change anyway.
func (n node) keys(marker immutability.Marker) {
	items := n.Schema.Items
	if items == nil || schema.IsTrue(items.Immutable) {
		return
	}
	var missing []string
	var edits []manifest.Edit
	for _, key := range n.Schema.ListMapKeys {
		property := items.Properties[key]
		switch {
		case property == nil || immutability.MarkerOf(property) != immutability.Free && !schema.IsTrue(property.Immutable):
			return
		case schema.IsTrue(property.Immutable):
		default:
			path := n.pathOf(n.Path.Child("items").Child("properties").Key(key))
			edits = append(edits, manifest.Edit{Action: manifest.Add, Path: path, Name: schema.ImmutableKeyword, Value: true})
			missing = append(missing, key)
		}
	}
	if len(edits) > 0 {
		n.found[n.path(marker.Keyword())] = &mend{
			text:  fmt.Sprintf("add %s: true to %s of the items", schema.ImmutableKeyword, strings.Join(missing, " and ")),
			edits: edits,
		}
	}
}
