package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
)

func TestSchemas(t *testing.T) {
	tests := map[string]struct {
		schema string
		want   []string // the errors, with paths relative to the schema
	}{
		"structural": {schema: `
type: object
properties:
  metadata: {type: object, properties: {name: {type: string, maxLength: 10}}}
  spec:
    type: object
    required: [mode]
    properties:
      mode: {type: string, enum: [a, b], default: a}
      port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
      labels: {type: object, additionalProperties: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}}}
    oneOf: [{required: [port]}, {required: [labels]}]
`},
		"patternProperties": {schema: `{type: object, properties: {spec: {type: object, patternProperties: {"^a": {type: string}}}}}`},
		"items by position": {
			schema: `{type: object, properties: {spec: {type: array, items: [{type: string}, {type: integer}], additionalItems: {type: boolean}}}}`,
		},
		"a list without items": {schema: `{type: object, properties: {spec: {type: array}}}`},
		"additionalProperties: false": {
			schema: `{type: object, properties: {spec: {type: object, properties: {a: {type: string}}, additionalProperties: false}}, ` +
				`additionalProperties: false}`,
		},
		"missing types": {schema: `{properties: {metadata: {}, kind: {}, spec: {properties: {a: {}, b: {items: {}}}}}}`},
		"fields only inside anyOf and allOf": {schema: `
type: object
properties:
  spec:
    type: object
    anyOf:
    - {properties: {a: {type: string, nullable: true, description: of a}}}
    - {properties: {b: {type: integer}}, required: [b]}
allOf: [{properties: {status: {type: object}, metadata: {properties: {name: {pattern: "^a"}}}}}]
`},
		"no schema for the root": {schema: `{}`},
		"no-prune at the root":   {schema: `{type: object, x-kubernetes-no-prune: true}`},
		"no-prune on int-or-string": {schema: `
{type: object, properties: {spec: {x-kubernetes-int-or-string: true, x-kubernetes-no-prune: true}}}`},
		"a default below no-prune": {schema: `
type: object
properties:
  spec: {type: object, x-kubernetes-no-prune: true, properties: {a: {type: object, properties: {known: {type: string}},
      default: {other: 1}}}}
`},

		"additionalProperties in logic beside properties": {
			schema: `{type: object, properties: {spec: {type: object, properties: {a: {type: string}}, ` +
				`anyOf: [{additionalProperties: {type: integer}}]}}}`,
			want: []string{".properties[spec].additionalProperties: Forbidden: must not be used beside properties: " +
				"an object has either known fields or free keys; " +
				"to keep unknown fields beside known ones use x-kubernetes-preserve-unknown-fields: true"},
		},
		"every unsupported keyword, with its path": {
			schema: `
type: object
nullable: true
properties:
  spec:
    type: object
    properties:
      a: {$ref: "#/definitions/x"}
      b: {id: x, type: string}
      c: {type: "null"}
      d: {type: array, uniqueItems: true, items: {type: string}}
      e: {definitions: {x: {type: string}}, dependencies: {y: [z]}, type: object}
      f: {type: strange}
      g: {type: string, pattern: "("}
`,
			want: []string{
				".nullable: Forbidden: must not be true at the root",
				".properties[spec].properties[a].$ref: Forbidden: is not supported",
				".properties[spec].properties[b].id: Forbidden: is not supported",
				".properties[spec].properties[c].type: Forbidden: must not be null, use nullable: true beside the type",
				".properties[spec].properties[d].uniqueItems: Forbidden: must not be true, because the check would take quadratic time; " +
					"use x-kubernetes-list-type: set",
				".properties[spec].properties[e].definitions: Forbidden: is not supported",
				".properties[spec].properties[e].dependencies: Forbidden: is not supported",
				`.properties[spec].properties[f].type: Forbidden: must be object, array, string, boolean, integer or number, not "strange"`,
				".properties[spec].properties[g].pattern: Forbidden: must be a regular expression: error parsing regexp: missing closing ): `(`",
			},
		},
		"keywords with values of the wrong type": {
			schema: `{type: [object], properties: [n], required: [1], maxLength: 1.5}`,
			want: []string{
				".maxLength: Invalid value: must be an integer, not the number 1.5",
				".properties: Invalid value: must be an object, not a list",
				".required[0]: Invalid value: must be a string, not the number 1",
				".type: Invalid value: must be a string, not a list",
			},
		},
		"a schema that is a list": {
			schema: `[false]`,
			want:   []string{": Invalid value: must be a schema (an object), not a list"},
		},
		"a root that is no object": {
			schema: `{type: string}`,
			want:   []string{".type: Forbidden: must be object at the root, not string"},
		},
		"default and rules inside of logic": {
			schema: `{type: object, properties: {spec: {type: object, allOf: [{properties: {a: {default: 1, ` +
				`x-kubernetes-validations: [{rule: "true"}]}}}]}}}`,
			want: []string{
				".properties[spec].allOf[0].properties[a].default: Forbidden: must not be used inside allOf, anyOf, oneOf or not",
				".properties[spec].allOf[0].properties[a].x-kubernetes-validations: Forbidden: must not be used inside allOf, anyOf, oneOf or not",
			},
		},
		"markers in places where they are forbidden": {
			schema: `
type: object
x-kubernetes-immutable: true
properties:
  metadata: {type: object, x-kubernetes-immutable: true}
  spec:
    type: object
    properties:
      a: {type: string, x-kubernetes-immutable: false}
      b: {type: string, x-kubernetes-immutable-keys: true}
      c: {type: object, additionalProperties: {type: string}, x-kubernetes-immutable-keys: true, x-kubernetes-addition-only: true}
    anyOf: [{properties: {a: {x-kubernetes-immutable: true}}}]
`,
			want: []string{
				".properties[metadata].x-kubernetes-immutable: Forbidden: may not stand in the metadata of the object: the server changes it",
				".properties[spec].anyOf[0].properties[a].x-kubernetes-immutable: Forbidden: may not stand inside of allOf, anyOf, oneOf or not",
				".properties[spec].properties[a].x-kubernetes-immutable: Forbidden: must be true or absent: false cannot undo a marker around it",
				".properties[spec].properties[b].x-kubernetes-immutable-keys: Forbidden: needs keys: this is a scalar",
				".properties[spec].properties[c].x-kubernetes-addition-only: Forbidden: only one marker may stand on a node, " +
					"and x-kubernetes-immutable-keys does already",
				".x-kubernetes-immutable: Forbidden: may not stand at the root of the schema",
			},
		},
		"no-prune": {
			schema: `
type: object
properties:
  a: {type: object, x-kubernetes-no-prune: false}
  b: {type: object, x-kubernetes-no-prune: true, properties: {c: {type: object, x-kubernetes-no-prune: true}}}
  d: {type: object, x-kubernetes-no-prune: true, x-kubernetes-preserve-unknown-fields: true}
`,
			want: []string{
				".properties[a].x-kubernetes-no-prune: Forbidden: must be true or left out",
				".properties[b].properties[c].x-kubernetes-no-prune: Forbidden: must not be used below another one, " +
					"which leaves everything below it alone already",
				".properties[d].x-kubernetes-no-prune: Forbidden: must not be used together with x-kubernetes-preserve-unknown-fields: " +
					"choose the one that is meant",
			},
		},
		"normalize": {
			schema: `{type: object, required: [spec], properties: {spec: {type: object, x-kubernetes-normalize: undefined}}}`,
			want:   []string{".properties[spec].x-kubernetes-normalize: Forbidden: must not be used on a required property"},
		},
		"defaults": {
			schema: `
type: object
properties:
  spec:
    type: object
    properties:
      wrong: {type: string, default: 1}
      unknown: {type: object, properties: {a: {type: string}}, default: {b: 1}}
      logic: {type: string, anyOf: [{enum: [x]}, {enum: [y]}], default: z}
      untyped: {default: {a: 1}}
      pattern: {type: object, patternProperties: {"^a": {type: string}}, default: {a: x, b: x}}
      good: {type: string, anyOf: [{enum: [x]}], default: x}
`,
			want: []string{
				`.properties[spec].properties[logic].default: Invalid value: "": "" must validate at least one schema (anyOf)`,
				`.properties[spec].properties[logic].default: Unsupported value: "z": supported values: "x"`,
				`.properties[spec].properties[pattern].default: Invalid value: {"a":"x","b":"x"}: must not have unknown fields`,
				`.properties[spec].properties[unknown].default: Invalid value: {"b":1}: must not have unknown fields`,
				`.properties[spec].properties[untyped].default: Invalid value: {"a":1}: must not have unknown fields`,
				`.properties[spec].properties[wrong].default: Invalid value: "integer":  in body must be of type string: "integer"`,
			},
		},
		"list types": {
			schema: `
type: object
properties:
  a: {type: array, x-kubernetes-list-type: map, items: {type: object, properties: {b: {type: string}}}}
  c: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [d], items: {type: object, properties: {d: {type: string}}}}
  e: {type: array, x-kubernetes-list-type: set, items: {type: object, properties: {f: {type: string}}}}
  g: {type: string, x-kubernetes-list-type: set}
`,
			want: []string{
				".properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
				".properties[c].items.properties[d].default: Required value: this property is in x-kubernetes-list-map-keys, " +
					"so it must have a default or be a required property",
				".properties[e].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
				`.properties[g].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified`,
			},
		},
		"CEL": {
			schema: `
type: object
properties:
  a: {type: string, x-kubernetes-validations: [{rule: "self.size()"}]}
  b: {x-kubernetes-validations: [{rule: "true"}]}
  c: {properties: {d: {type: string, x-kubernetes-validations: [{rule: "true"}]}}}
  e: {type: array, items: [{type: string, x-kubernetes-validations: [{rule: "true"}]}]}
  f: {type: object, patternProperties: {x: {type: string, x-kubernetes-validations: [{rule: "true"}]}, y: {}}}
  g: {type: object, patternProperties: {x: {type: string, x-kubernetes-validations: [{rule: "self == 1"}]}}}
  h: {type: array, maxItems: 9, items: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}
`,
			want: []string{
				".properties[a].x-kubernetes-validations[0].rule: Invalid value: \"self.size()\": cel expression must evaluate to a bool",
				".properties[b].x-kubernetes-validations: Forbidden: needs a type: " +
					"CEL knows only values whose type is named on the node itself, through allOf, or by every branch of anyOf or oneOf",
				".properties[c].properties[d].x-kubernetes-validations: Forbidden: needs a type: " +
					"CEL knows only values whose type is named on the node itself, through allOf, or by every branch of anyOf or oneOf",
				".properties[e].items[0].x-kubernetes-validations: Forbidden: must not be used below items by position, which CEL has no type for",
				".properties[f].patternProperties[x].x-kubernetes-validations: Forbidden: " +
					"must not be used below several patternProperties, which CEL has no type for",
				`.properties[g].patternProperties[x].x-kubernetes-validations[0].rule: Invalid value: "self == 1": compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(string, int)'
 | self == 1
 | .....^`,
				`.properties[h].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": ` +
					`oldSelf cannot be used on the uncorrelatable portion of the schema within spec.versions[0].schema.openAPIV3Schema.properties[h]`,
			},
		},
		"a rule that costs too much": {
			schema: `
type: object
properties:
  a: {type: array, items: {type: array, items: {type: string}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, x == y))"}]}}
`,
			want: []string{
				": Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of " +
					"more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, " +
					"and strings are declared)",
				".properties[a].items.x-kubernetes-validations[0].rule: Forbidden: " +
					"contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
				".properties[a].items.x-kubernetes-validations[0].rule: Forbidden: " +
					"estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, " +
					"maxProperties, and maxLength where arrays, maps, and strings are declared)",
			},
		},
		"metadata": {
			schema: `{type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}, kind: {type: integer}}}`,
			want: []string{
				`.properties[kind].type: Invalid value: "integer": must be string`,
				".properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
			},
		},
		"embedded": {
			schema: `{type: object, properties: {a: {type: object, x-kubernetes-embedded-resource: true}, b: {type: string, ` +
				`x-kubernetes-embedded-resource: true}}}`,
			want: []string{
				".properties[a].properties: Required value: " +
					"must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
				".properties[b].properties: Required value: " +
					"must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
				`.properties[b].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true`,
			},
		},
		"additionalProperties at the root": {
			schema: `{type: object, additionalProperties: {type: string}}`,
			want: []string{
				".additionalProperties: Forbidden: must not be used at the root",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, line := range test.want {
				want = append(want, inSchema(line))
			}
			got := refusals(t, definition.Write{APIVersion: definition.V1}, read(t, widgets(test.schema)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}
