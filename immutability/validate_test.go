package immutability_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

func errorLines(errors schema.Errors) []string {
	var all []string
	for _, err := range errors {
		all = append(all, err.Error())
	}
	return all
}

func TestValidate(t *testing.T) {
	const (
		inMetadata = `may not stand in the metadata of the object: the server changes it`
		inLogic    = `may not stand inside of allOf, anyOf, oneOf or not`
		noFalse    = `must be true or absent: false cannot undo a marker around it`
		scalar     = `needs keys: this is a scalar`
		noMap      = `needs keys: this is no map, it has no additionalProperties`
		atomicList = `needs keys: this list is of type atomic, only lists of type map or set have keys`
		needsKey   = `needs x-kubernetes-immutable on the items or on their key "name"`
	)
	for name, test := range map[string]struct {
		schema string
		want   []string
	}{
		"everywhere it may stand": {`{properties: {a: {x-kubernetes-immutable: true}, b: {items: {x-kubernetes-immutable: true}},
			c: {items: [{x-kubernetes-immutable: true}], additionalItems: {x-kubernetes-immutable: true}},
			d: {additionalProperties: {x-kubernetes-immutable: true}}, e: {patternProperties: {x: {x-kubernetes-immutable: true}}},
			f: {properties: {metadata: {x-kubernetes-immutable: true}, kind: {x-kubernetes-immutable: true}}},
			status: {x-kubernetes-immutable: true}}}`, nil},
		"no markers": {`{properties: {a: {type: string}}}`, nil},

		"root": {`{x-kubernetes-immutable: true}`, []string{`x-kubernetes-immutable: may not stand at the root of the schema`}},
		"keys at the root": {
			`{additionalProperties: true, x-kubernetes-addition-only: true}`,
			[]string{`x-kubernetes-addition-only: may not stand at the root of the schema`},
		},
		"metadata": {
			`{properties: {metadata: {x-kubernetes-immutable: true, properties: {labels: {additionalProperties: true,
				x-kubernetes-immutable-keys: true}}}}}`,
			[]string{
				`properties[metadata].properties[labels].x-kubernetes-immutable-keys: ` + inMetadata,
				`properties[metadata].x-kubernetes-immutable: ` + inMetadata,
			},
		},
		"type of the object": {
			`{properties: {apiVersion: {x-kubernetes-immutable: true}, kind: {x-kubernetes-immutable: true}}}`,
			[]string{
				`properties[apiVersion].x-kubernetes-immutable: may not stand on apiVersion of the object: it cannot change anyway`,
				`properties[kind].x-kubernetes-immutable: may not stand on kind of the object: it cannot change anyway`,
			},
		},

		"false": {
			`{properties: {a: {x-kubernetes-immutable: false}, b: {x-kubernetes-immutable-keys: false},
				c: {x-kubernetes-addition-only: false}, d: {x-kubernetes-deletion-only: false}}}`,
			[]string{
				`properties[a].x-kubernetes-immutable: ` + noFalse, `properties[b].x-kubernetes-immutable-keys: ` + noFalse,
				`properties[c].x-kubernetes-addition-only: ` + noFalse, `properties[d].x-kubernetes-deletion-only: ` + noFalse,
			},
		},
		"false in logic": {
			`{properties: {a: {not: {x-kubernetes-immutable: false}}}}`,
			[]string{`properties[a].not.x-kubernetes-immutable: ` + noFalse},
		},

		"two": {
			`{properties: {a: {additionalProperties: true, x-kubernetes-immutable: true, x-kubernetes-immutable-keys: true}}}`,
			[]string{
				`properties[a].x-kubernetes-immutable-keys: only one marker may stand on a node, and x-kubernetes-immutable does already`,
			},
		},
		"addition and deletion": {
			`{properties: {a: {additionalProperties: true, x-kubernetes-addition-only: true, x-kubernetes-deletion-only: true}}}`,
			[]string{
				`properties[a].x-kubernetes-deletion-only: only one marker may stand on a node, ` +
					`and x-kubernetes-addition-only does already`,
			},
		},

		"keys of scalars": {
			`{properties: {a: {type: string, x-kubernetes-immutable-keys: true}, b: {type: integer,
				x-kubernetes-addition-only: true}, c: {x-kubernetes-int-or-string: true, x-kubernetes-deletion-only: true}}}`,
			[]string{
				`properties[a].x-kubernetes-immutable-keys: ` + scalar, `properties[b].x-kubernetes-addition-only: ` + scalar,
				`properties[c].x-kubernetes-deletion-only: ` + scalar,
			},
		},
		"keys of an object with properties": {
			`{properties: {a: {type: object, properties: {b: {}}, x-kubernetes-immutable-keys: true}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: ` + noMap},
		},
		"additionalProperties false": {
			`{properties: {a: {type: object, additionalProperties: false, x-kubernetes-immutable-keys: true}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: ` + noMap},
		},
		"preserve-unknown-fields": {
			`{properties: {a: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-immutable-keys: true}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: ` + noMap},
		},
		"keys of nothing": {
			`{properties: {a: {x-kubernetes-immutable-keys: true}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: ` + noMap},
		},
		"atomic list": {
			`{properties: {a: {type: array, x-kubernetes-list-type: atomic, items: {}, x-kubernetes-immutable-keys: true},
				b: {type: array, items: {}, x-kubernetes-addition-only: true}, c: {items: {}, x-kubernetes-deletion-only: true}}}`,
			[]string{
				`properties[a].x-kubernetes-immutable-keys: ` + atomicList,
				`properties[b].x-kubernetes-addition-only: ` + atomicList,
				`properties[c].x-kubernetes-deletion-only: ` + atomicList,
			},
		},
		"atomic map": {
			`{properties: {a: {type: object, additionalProperties: true, x-kubernetes-map-type: atomic,
				x-kubernetes-immutable-keys: true}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: needs keys: this map is of type atomic`},
		},
		"atomic list, immutable": {`{properties: {a: {type: array, items: {}, x-kubernetes-immutable: true}}}`, nil},
		"keys of a set": {
			`{properties: {a: {type: array, x-kubernetes-list-type: set, items: {}, x-kubernetes-immutable-keys: true}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: the items of a list of type set are its keys: use x-kubernetes-immutable`},
		},
		"sets": {
			`{properties: {a: {type: array, x-kubernetes-list-type: set, x-kubernetes-addition-only: true}, b: {type: array,
				x-kubernetes-list-type: set, x-kubernetes-deletion-only: true}, c: {type: array, x-kubernetes-list-type: set,
				x-kubernetes-immutable: true}}}`,
			nil,
		},
		"maps": {
			`{properties: {a: {additionalProperties: true, x-kubernetes-addition-only: true}, b: {additionalProperties: {},
				x-kubernetes-deletion-only: true}, c: {patternProperties: {x: {}}, x-kubernetes-immutable-keys: true}}}`,
			nil,
		},

		"list keys may change": {
			`{properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
				x-kubernetes-immutable-keys: true, items: {properties: {name: {type: string}}}}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: ` + needsKey},
		},
		"list keys of other markers": {
			`{properties: {
			a: {
				type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], x-kubernetes-addition-only: true,
				items: {properties: {name: {type: string}}},
			},
			b: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], x-kubernetes-deletion-only: true,
				items: {}}}}`,
			[]string{`properties[a].x-kubernetes-addition-only: ` + needsKey, `properties[b].x-kubernetes-deletion-only: ` + needsKey},
		},
		"list key is immutable": {
			`{properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
				x-kubernetes-immutable-keys: true, items: {properties: {name: {x-kubernetes-immutable: true}}}}}}`,
			nil,
		},
		"items are immutable": {
			`{properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
				x-kubernetes-addition-only: true, items: {x-kubernetes-immutable: true}}}}`,
			nil,
		},
		"second key may change": {
			`{properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id, name],
				x-kubernetes-addition-only: true, items: {properties: {id: {x-kubernetes-immutable: true}}}}}}`,
			[]string{`properties[a].x-kubernetes-addition-only: ` + needsKey},
		},
		"list keys do not exist": {
			`{properties: {a: {type: array, x-kubernetes-list-type: map, x-kubernetes-immutable-keys: true}}}`,
			[]string{`properties[a].x-kubernetes-immutable-keys: needs keys: ` +
				`this list of type map names none in x-kubernetes-list-map-keys`},
		},

		"logic": {
			`{properties: {a: {allOf: [{x-kubernetes-immutable: true}], anyOf: [{},
				{properties: {b: {additionalProperties: true, x-kubernetes-immutable-keys: true}}}],
				oneOf: [{items: {x-kubernetes-addition-only: true}}], not: {x-kubernetes-deletion-only: true}}}}`,
			[]string{
				`properties[a].allOf[0].x-kubernetes-immutable: ` + inLogic,
				`properties[a].anyOf[1].properties[b].x-kubernetes-immutable-keys: ` + inLogic,
				`properties[a].not.x-kubernetes-deletion-only: ` + inLogic,
				`properties[a].oneOf[0].items.x-kubernetes-addition-only: ` + inLogic,
			},
		},
		"redundant": {`{properties: {foo: {x-kubernetes-immutable: true, properties: {bar: {x-kubernetes-immutable: true}}}}}`, nil},
		"definitions": {
			`{definitions: {a: {properties: {b: {x-kubernetes-immutable: true}}}}}`,
			[]string{`definitions[a].properties[b].x-kubernetes-immutable: may not stand in definitions or dependencies`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := errorLines(immutability.Validate(schemaOf(t, test.schema)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if errors := immutability.Validate(nil); errors != nil {
		t.Errorf("no schema: %v", errors)
	}
}

func TestValidateV1beta1(t *testing.T) {
	const (
		marked   = `{properties: {a: {x-kubernetes-immutable: true}, b: {}}}`
		moved    = `{properties: {a: {}, b: {x-kubernetes-immutable: true}}}`
		weaker   = `{properties: {a: {additionalProperties: true, x-kubernetes-addition-only: true}, b: {}}}`
		unmarked = `{properties: {a: {}, b: {}}}`
		refusal  = `: may not be added through apiextensions.k8s.io/v1beta1: use apiextensions.k8s.io/v1`
	)
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"create":          {"", marked, []string{`properties[a].x-kubernetes-immutable` + refusal}},
		"create, no mark": {"", unmarked, nil},
		"keep":            {marked, marked, nil},
		"add":             {unmarked, marked, []string{`properties[a].x-kubernetes-immutable` + refusal}},
		"move":            {marked, moved, []string{`properties[b].x-kubernetes-immutable` + refusal}},
		"replace":         {marked, weaker, []string{`properties[a].x-kubernetes-addition-only` + refusal}},
		"remove":          {marked, unmarked, nil},
		"false, in logic": {unmarked, `{anyOf: [{x-kubernetes-immutable: false}]}`, []string{`anyOf[0].x-kubernetes-immutable` + refusal}},
	} {
		t.Run(name, func(t *testing.T) {
			var oldSchema *schema.Schema
			if test.old != "" {
				oldSchema = schemaOf(t, test.old)
			}
			got := errorLines(immutability.ValidateV1beta1(oldSchema, schemaOf(t, test.new)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
