package definition_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// compiled compiles the first version of a definition.
func compiled(t testing.TB, crd *definition.CustomResourceDefinition) *definition.Compiled {
	t.Helper()
	versions, err := definition.Compile(crd)
	if err != nil {
		t.Fatal(err)
	}
	return versions[crd.Spec.Versions[0].Name]
}

func TestCompiledValidate(t *testing.T) {
	const wrongType = `{type: object, properties: {spec: {type: object, properties: {` +
		`a: {type: integer, x-kubernetes-validations: [{rule: "self > 1"}]}, b: {type: string}}}}}`
	tests := map[string]struct {
		schema   string
		rest     string // more fields of the version
		old, new string
		want     []string
	}{
		"the full schema": {
			schema: `{type: object, properties: {spec: {type: object, required: [a], properties: {a: {type: string, pattern: "^x"}, ` +
				`b: {type: integer, maximum: 3}}, anyOf: [{required: [b]}]}}}`,
			new: `{spec: {a: z}}`,
			want: []string{
				`<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)`,
				`spec.a: Invalid value: "z": spec.a in body should match '^x'`,
				`spec.b: Required value`,
			},
		},
		"patternProperties and items by position": {
			schema: `{type: object, properties: {m: {type: object, patternProperties: {"^n": {type: integer}}}, l: {type: array, ` +
				`items: [{type: string}, {type: integer}]}}}`,
			new: `{m: {n1: x}, l: [a, b]}`,
			want: []string{
				`l[1]: Invalid value: "string": l[1] in body must be of type integer: "string"`,
				`m.n1: Invalid value: "string": m.n1 in body must be of type integer: "string"`,
			},
		},
		"additionalProperties: false allows metadata": {
			schema: `{type: object, properties: {spec: {type: object, properties: {a: {type: string}}, additionalProperties: false}}, ` +
				`additionalProperties: false}`,
			new: `{apiVersion: v1, kind: A, metadata: {name: a}, spec: {a: x}}`,
		},
		"additionalProperties: false without properties": {
			schema: `{additionalProperties: false}`,
			new:    `{apiVersion: v1, kind: A, metadata: {name: a}}`,
		},
		"additionalProperties: false in a branch": {
			schema: `{type: object, properties: {spec: {type: object, oneOf: [{properties: {a: {type: string}}, ` +
				`additionalProperties: false}, {properties: {b: {type: string}}, required: [b]}]}}}`,
			new: `{spec: {a: x, b: x}}`,
		},
		"rules": {
			schema: `{type: object, properties: {spec: {type: object, properties: {a: {type: integer}}, ` +
				`x-kubernetes-validations: [{rule: "self.a < 3", message: too much}]}}}`,
			new:  `{spec: {a: 3}}`,
			want: []string{`spec: Invalid value: too much`},
		},
		"a rule about the change": {
			schema: `{type: object, properties: {spec: {type: object, properties: {a: {type: integer, ` +
				`x-kubernetes-validations: [{rule: "self >= oldSelf"}]}}}}}`,
			old:  `{spec: {a: 3}}`,
			new:  `{spec: {a: 2}}`,
			want: []string{`spec.a: Invalid value: 2: failed rule: self >= oldSelf`},
		},
		"rules see the types that logic gives": {
			schema: `{properties: {spec: {allOf: [{type: object}], properties: {a: {anyOf: [{type: integer, maximum: 1}, ` +
				`{type: integer, minimum: 9}]}, b: {}}, x-kubernetes-validations: [{rule: "self.a != 1"}]}}}`,
			new:  `{spec: {a: 1, b: x}}`,
			want: []string{`spec: Invalid value: failed rule: self.a != 1`},
		},
		"rules wait for a valid object": {
			schema: `{type: object, properties: {spec: {type: object, required: [a], properties: {a: {type: integer}}, ` +
				`x-kubernetes-validations: [{rule: "self.a < 3"}]}}}`,
			new: `{spec: {}}`,
			want: []string{
				`spec.a: Required value`,
				`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; ` +
					`correct the existing errors to complete validation`,
			},
		},
		"a rule about a set of objects": {
			schema: `{type: object, properties: {s: {type: array, maxItems: 4, x-kubernetes-list-type: set, ` +
				`x-kubernetes-validations: [{rule: "self == oldSelf"}], items: {type: object, x-kubernetes-map-type: atomic, ` +
				`properties: {a: {type: integer}}}}}}`,
			old:  `{s: [{a: 1}, {a: 2}]}`,
			new:  `{s: [{a: 1}, {a: 3}]}`,
			want: []string{`s: Invalid value: failed rule: self == oldSelf`},
		},
		"keys twice": {
			schema: `
type: object
properties:
  m: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a],
      items: {type: object, required: [a], properties: {a: {type: string}}}}
  s: {type: array, x-kubernetes-list-type: set, items: {type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}}}}
`,
			new:  `{m: [{a: x}, {a: x}], s: [{a: x}, {a: x}]}`,
			want: []string{`m[1]: Duplicate value: {"a":"x"}`, `s[1]: Duplicate value: {"a":"x"}`},
		},
		"keys twice, as in the old object": {
			schema: `{type: object, properties: {s: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`,
			old:    `{s: [a, a]}`,
			new:    `{s: [a, a, b]}`,
		},
		"embedded metadata": {
			schema: `{type: object, properties: {t: {type: object, x-kubernetes-embedded-resource: true, ` +
				`x-kubernetes-preserve-unknown-fields: true}}}`,
			new:  `{t: {apiVersion: v1, kind: A, metadata: {name: a/b}}}`,
			want: []string{`t.metadata.name: Invalid value: "a/b": may not contain '/'`},
		},
		"scale": {
			schema: `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}, ` +
				`status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`,
			rest: `subresources: {scale: {specReplicasPath: .spec.r, statusReplicasPath: .status.r, labelSelectorPath: .status.s}}`,
			new:  `{spec: {r: -1}, status: {r: 2147483648, s: 1}}`,
			want: []string{
				`.spec.r: Invalid value: -1: should be a non-negative integer`,
				`.status.r: Invalid value: 2147483648: should be less than or equal to 2147483647`,
				`.status.s: Invalid value: "": .status.s accessor error: 1 is of the type int64, expected string`,
			},
		},
		"scale with a string": {
			schema: `{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`,
			rest:   `subresources: {scale: {specReplicasPath: .spec.r, statusReplicasPath: .status.r}}`,
			new:    `{spec: {r: many}}`,
			want:   []string{`.spec.r: Invalid value: 0: .spec.r accessor error: many is of the type string, expected int64`},
		},
		"a label of an object with a value of a wrong type that a rule reads": {
			schema: wrongType,
			old:    `{spec: {a: text, b: x}}`,
			new:    `{metadata: {labels: {x: z}}, spec: {a: text, b: x}}`,
		},
		"another field of such an object": {
			schema: wrongType,
			old:    `{spec: {a: text, b: x}}`,
			new:    `{spec: {a: text, b: z}}`,
			want:   []string{`spec.a: Invalid value: "integer": invalid data, expected int, got string evaluating rule: self > 1`},
		},
		"an invalid value that the update does not change": {
			schema: `{type: object, properties: {spec: {type: object, properties: {a: {type: string, maxLength: 1}, b: {type: string}}}}}`,
			old:    `{spec: {a: long, b: x}}`,
			new:    `{spec: {a: long, b: z}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := compiled(t, store(t, widgets(test.schema)+indent(test.rest, 4)))
			if diff := cmp.Diff(test.want, lines(c.Validate(t.Context(), yamltest.Map(t, test.new), yamltest.Map(t, test.old)))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompiledValidateStatus(t *testing.T) {
	const status = "    subresources: {status: {}}\n"
	const schema = `{type: object, required: [spec], properties: {spec: {type: object}, status: {type: object, ` +
		`properties: {a: {type: string}}}}`
	tests := map[string]struct {
		schema   string
		old, new string
		want     []string
	}{
		"the status": {
			schema: schema + "}",
			old:    `{spec: {}}`,
			new:    `{spec: {}, status: {a: 1}}`,
			want:   []string{`status.a: Invalid value: "integer": a in body must be of type string: "integer"`},
		},
		"not the rest": {schema: schema + "}", old: `{}`, new: `{status: {a: x}}`},
		"logic at the root includes the rest": {
			schema: schema + ", allOf: [{required: [other]}]}",
			old:    `{spec: {}}`,
			new:    `{spec: {}, status: {a: x}}`,
			want:   []string{`<nil>: Invalid value: "": "" must validate all the schemas (allOf). None validated`, `other: Required value`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := compiled(t, store(t, widgets(test.schema)+status))
			if diff := cmp.Diff(test.want, lines(c.ValidateStatus(t.Context(), yamltest.Map(t, test.new), yamltest.Map(t, test.old)))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompiled(t *testing.T) {
	crd := store(t, widgets(`
type: object
properties:
  spec: {type: object, properties: {a: {type: string, default: x, x-kubernetes-immutable: true}}}
`)+`
    subresources: {status: {}, scale: {specReplicasPath: .spec.r, statusReplicasPath: .status.r}}
    selectableFields: [{jsonPath: .spec.a}]
    additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}]
`)
	c := compiled(t, crd)
	if c.Kind.String() != "example.com/v1, Kind=Widget" || !c.Pruned || !c.HasStatus() ||
		c.Scale().SpecReplicasPath != ".spec.r" || c.Policy == nil {
		t.Errorf("got %v, pruned %v, status %v, scale %v, policy %v", c.Kind, c.Pruned, c.HasStatus(), c.Scale(), c.Policy)
	}
	if len(c.Version.SelectableFields) != 1 || len(c.Version.AdditionalPrinterColumns) != 1 {
		t.Errorf("version %+v", c.Version)
	}
	oldObj, newObj := yamltest.Map(t, `{spec: {a: x}}`), yamltest.Map(t, `{spec: {a: z}}`)
	if got := c.Policy.Check(oldObj, newObj); len(got) != 1 {
		t.Errorf("violations %v", got)
	}
	obj := yamltest.Map(t, `{spec: {b: 1}, other: 2}`)
	c.Skeleton.Prune(obj)
	defaulting.Default(obj, c.Structural)
	if diff := cmp.Diff(yamltest.Map(t, `{spec: {a: x}}`), obj); diff != "" {
		t.Errorf("pruned and defaulted (-want +got):\n%s", diff)
	}

	bare := compiled(t, storeV1beta1(t, widgetsV1beta1("prune: false")))
	if bare.Pruned || bare.Policy != nil || bare.HasStatus() || bare.Scale() != nil {
		t.Errorf("without a schema: %+v", bare)
	}
	if errs := bare.Validate(t.Context(), yamltest.Map(t, `{a: 1}`), yamltest.Map(t, `{a: 2}`)); len(errs) > 0 {
		t.Errorf("without a schema: %v", errs)
	}

	broken := read(t, widgets(`[false]`))
	if _, err := definition.Compile(broken); err == nil || err.Error() != "compile version v1 of widgets.example.com: "+
		"must be a schema (an object), not a list" {
		t.Errorf("a broken schema: %v", err)
	}
}

// The first writes to a kind may run concurrently.
func TestCompiledConcurrently(t *testing.T) {
	c := compiled(t, store(t, widgets(`{type: object, properties: {a: {type: integer, x-kubernetes-validations: [{rule: "self < 3"}]}}}`)))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got := lines(c.Validate(t.Context(), map[string]any{"a": int64(3)}, nil)); len(got) != 1 {
				t.Errorf("got %v", got)
			}
		})
	}
	group.Wait()
}
