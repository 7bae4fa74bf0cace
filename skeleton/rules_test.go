package skeleton_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/skeleton"
)

func refusedPaths(t *testing.T, rules skeleton.Rules, text string) []string {
	t.Helper()
	var out []string
	for _, err := range rules.Check(schemaOf(t, yamltest.Value(t, text))) {
		out = append(out, err.Path.String())
	}
	return out
}

func TestRulesRefuse(t *testing.T) {
	for name, tc := range map[string]struct {
		schema string
		want   []string
	}{
		"nothing wrong": {
			schema: `{type: object, properties: {a: {patternProperties: {^x: {}}, additionalProperties: {}}, b: {items: [{}],
				additionalItems: {}}, c: {additionalProperties: false, properties: {x: {}}},
			  d: {}, e: {anyOf: [{type: string}, {type: integer}]}, f: {x-kubernetes-no-prune: true,
			  properties: {g: {x-kubernetes-preserve-unknown-fields: true}}},
			  h: {type: array, x-kubernetes-normalize: undefined}, i: {uniqueItems: false, id: ""}}}`,
		},
		"no type at the root": {schema: `{properties: {a: {}}}`},
		"keywords": {
			schema: `{properties: {a: {$ref: x, id: yy, definitions: {z: {}}, dependencies: {z: []}}}, not: {$ref: x}}`,
			want: []string{
				"not.$ref", "properties[a].$ref", "properties[a].definitions", "properties[a].dependencies", "properties[a].id",
			},
		},
		"types": {
			schema: `{properties: {a: {type: "null"}, b: {anyOf: [{type: "null"}]}, c: {type: strng}}}`,
			want:   []string{"properties[a].type", "properties[b].anyOf[0].type", "properties[c].type"},
		},
		"uniqueItems":                 {schema: `{properties: {a: {uniqueItems: true}}}`, want: []string{"properties[a].uniqueItems"}},
		"root of another type":        {schema: `{type: array}`, want: []string{"type"}},
		"root of another type, logic": {schema: `{allOf: [{type: string}]}`, want: []string{"type"}},
		"nullable root":               {schema: `{nullable: true, properties: {a: {nullable: true}}}`, want: []string{"nullable"}},
		"nullable root, logic": {
			schema: `{allOf: [{nullable: true, properties: {a: {nullable: true}}}]}`, want: []string{"allOf[0].nullable"},
		},
		"preserve false": {
			schema: `{x-kubernetes-preserve-unknown-fields: false}`, want: []string{"x-kubernetes-preserve-unknown-fields"},
		},
		"regular expressions": {
			schema: `{properties: {a: {pattern: "("}, b: {patternProperties: {"(": {}}}}}`,
			want:   []string{"properties[a].pattern", "properties[b].patternProperties[(]"},
		},
		"inside logic": {
			schema: `{allOf: [{default: 1, x-kubernetes-validations: [{rule: "true"}]}],
				anyOf: [{x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}],
			  oneOf: [{x-kubernetes-int-or-string: true, x-kubernetes-list-type: set, x-kubernetes-list-map-keys: [a],
			  x-kubernetes-map-type: atomic}],
			  not: {properties: {a: {x-kubernetes-no-prune: true, x-kubernetes-normalize: undefined}}}}`,
			want: []string{
				"allOf[0].default", "allOf[0].x-kubernetes-validations",
				"anyOf[0].x-kubernetes-embedded-resource", "anyOf[0].x-kubernetes-preserve-unknown-fields",
				"not.properties[a].x-kubernetes-no-prune", "not.properties[a].x-kubernetes-normalize",
				"oneOf[0].x-kubernetes-int-or-string", "oneOf[0].x-kubernetes-list-map-keys", "oneOf[0].x-kubernetes-list-type",
				"oneOf[0].x-kubernetes-map-type",
			},
		},
		"properties beside additionalProperties": {
			schema: `{properties: {a: {properties: {x: {}}, additionalProperties: {}}, b: {properties: {x: {}},
				patternProperties: {yy: {}}, additionalProperties: true},
			  c: {items: {anyOf: [{properties: {x: {}}}, {not: {additionalProperties: {}}}]}}}}`,
			want: []string{
				"properties[a].additionalProperties", "properties[b].additionalProperties", "properties[b].patternProperties",
				"properties[c].items.additionalProperties",
			},
		},
		"properties beside additionalProperties, below maps, patterns and items": {
			schema: `{properties: {a: {additionalProperties: {properties: {x: {}}, additionalProperties: true}},
				b: {patternProperties: {p: {properties: {x: {}}, additionalProperties: true}}},
			  c: {items: [{properties: {x: {}}, additionalProperties: true}], additionalItems: {properties: {x: {}},
			  additionalProperties: true}}}}`,
			want: []string{
				"properties[a].additionalProperties.additionalProperties", "properties[b].patternProperties[p].additionalProperties",
				"properties[c].additionalItems.additionalProperties", "properties[c].items[0].additionalProperties",
			},
		},
		"both forms of items": {schema: `{properties: {a: {items: {}, anyOf: [{items: [{}]}]}}}`, want: []string{"properties[a].items"}},
		"no-prune": {
			schema: `{properties: {a: {x-kubernetes-no-prune: false}, b: {x-kubernetes-no-prune: true,
				properties: {c: {items: {x-kubernetes-no-prune: true}}}},
			  d: {x-kubernetes-no-prune: true, x-kubernetes-preserve-unknown-fields: true}}}`,
			want: []string{
				"properties[a].x-kubernetes-no-prune", "properties[b].properties[c].items.x-kubernetes-no-prune",
				"properties[d].x-kubernetes-no-prune",
			},
		},
		"normalize": {
			schema: `{type: object, x-kubernetes-normalize: undefined, required: [r], allOf: [{required: [s]}],
			  properties: {a: {type: array, x-kubernetes-normalize: "null"}, b: {type: string,
			  x-kubernetes-normalize: undefined}, c: {type: array, items: {type: array, x-kubernetes-normalize: undefined}},
			  d: {additionalProperties: {type: object, x-kubernetes-normalize: undefined}}, e: {type: array, default: [],
			  x-kubernetes-normalize: undefined},
			  f: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
			  items: {properties: {k: {type: object, x-kubernetes-normalize: undefined}}}},
			  metadata: {properties: {labels: {type: object, x-kubernetes-normalize: undefined}}},
			  r: {type: array, x-kubernetes-normalize: undefined}, s: {type: array, x-kubernetes-normalize: undefined}}}`,
			want: []string{
				"properties[a].x-kubernetes-normalize", "properties[b].x-kubernetes-normalize",
				"properties[c].items.x-kubernetes-normalize",
				"properties[d].additionalProperties.x-kubernetes-normalize", "properties[e].x-kubernetes-normalize",
				"properties[f].items.properties[k].x-kubernetes-normalize",
				"properties[metadata].properties[labels].x-kubernetes-normalize",
				"properties[r].x-kubernetes-normalize", "properties[s].x-kubernetes-normalize", "x-kubernetes-normalize",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, refusedPaths(t, skeleton.Rules{}, tc.schema)); diff != "" {
				t.Errorf("refused paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulesSuggestPreserveUnknownFields(t *testing.T) {
	err := skeleton.Rules{}.Check(schemaOf(t, yamltest.Value(t, `{properties: {a: {}}, additionalProperties: true}`)))
	if len(err) != 1 || !strings.Contains(err.Error(), "x-kubernetes-preserve-unknown-fields: true") {
		t.Errorf("got %v", err)
	}
}

func TestRulesForDefinitionsThatAreNotPruned(t *testing.T) {
	const text = `{anyOf: [{x-kubernetes-preserve-unknown-fields: true, x-kubernetes-list-type: set, default: 1}],
		properties: {a: {properties: {b: {}}, additionalProperties: true}}}`
	want := []string{"anyOf[0].default", "properties[a].additionalProperties"}
	if diff := cmp.Diff(want, refusedPaths(t, skeleton.Rules{NotPruned: true}, text)); diff != "" {
		t.Errorf("refused paths (-want +got):\n%s", diff)
	}
}

func TestRulesOfNilSchema(t *testing.T) {
	if errs := (skeleton.Rules{}).Check(nil); len(errs) > 0 {
		t.Errorf("got %v", errs)
	}
}
