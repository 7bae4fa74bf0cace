package schema_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

func TestWalkVisitsEveryNodeInOrder(t *testing.T) {
	s, _, err := schema.Decode(yamltest.Value(t, `
not: {}
oneOf: [{}]
anyOf: [{properties: {z: {}}}]
allOf: [{}, {}]
additionalItems: {}
items: [{}, {}]
additionalProperties: {items: {}}
patternProperties: {b: {}, a: {}}
properties: {b: {}, a: {}}
dependencies: {d: {}, e: [x]}
definitions: {d: {}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	schema.Walk(s, func(v *schema.Visit) bool {
		got = append(got, fmt.Sprintf("%d %v %s", v.Depth, v.InLogic, v.Path))
		return true
	})
	want := []string{
		"0 false ",
		"1 false properties[a]",
		"1 false properties[b]",
		"1 false patternProperties[a]",
		"1 false patternProperties[b]",
		"1 false additionalProperties",
		"2 false additionalProperties.items",
		"1 false items[0]",
		"1 false items[1]",
		"1 false additionalItems",
		"1 true allOf[0]",
		"1 true allOf[1]",
		"1 true anyOf[0]",
		"2 true anyOf[0].properties[z]",
		"1 true oneOf[0]",
		"1 true not",
		"1 false definitions[d]",
		"1 false dependencies[d]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("visits (-want +got):\n%s", diff)
	}
}

func TestWalkSkipsBelowFalse(t *testing.T) {
	s, _, err := schema.Decode(yamltest.Value(t, `{properties: {a: {properties: {b: {}}}, c: {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	schema.Walk(s, func(v *schema.Visit) bool {
		got = append(got, v.Path.String())
		return v.Name != "a"
	})
	if diff := cmp.Diff([]string{"", "properties[a]", "properties[c]"}, got); diff != "" {
		t.Errorf("visits (-want +got):\n%s", diff)
	}
}
