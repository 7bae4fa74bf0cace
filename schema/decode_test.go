package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/schema"
)

func TestDecodeRefusesWrongTypes(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"no object":         {`[]`, []string{"must be a schema (an object), not a list"}},
		"null":              {`null`, []string{"must be a schema (an object), not null"}},
		"list of types":     {`type: [a]`, []string{"type: must be a string, not a list"}},
		"required bools":    {`required: [a, true]`, []string{"required[1]: must be a string, not a boolean"}},
		"items string":      {`items: "x"`, []string{"items: must be a schema (an object), not a string"}},
		"tuple of strings":  {`items: [{}, x]`, []string{"items[1]: must be a schema (an object), not a string"}},
		"properties list":   {`properties: []`, []string{"properties: must be an object, not a list"}},
		"property null":     {`properties: {a: null}`, []string{"properties[a]: must be a schema (an object), not null"}},
		"logic object":      {`anyOf: {}`, []string{"anyOf: must be a list of schemas, not an object"}},
		"additional number": {`additionalProperties: 3`, []string{"additionalProperties: must be a schema or a boolean, not the number 3"}},
		"marker string":     {`x-kubernetes-immutable: "yes"`, []string{"x-kubernetes-immutable: must be a boolean, not a string"}},
		"normalize bool":    {`x-kubernetes-normalize: true`, []string{"x-kubernetes-normalize: must be a string, not a boolean"}},
		"length fraction":   {`maxLength: 1.5`, []string{"maxLength: must be an integer, not the number 1.5"}},
		"length huge":       {`maxLength: 1e300`, []string{"maxLength: must be an integer, not the number 1e+300"}},
		"maximum string":    {`maximum: "3"`, []string{"maximum: must be a number, not a string"}},
		"enum string":       {`enum: a`, []string{"enum: must be a list, not a string"}},
		"dependency bool":   {`dependencies: {a: true}`, []string{"dependencies[a]: must be a schema or a list of strings, not a boolean"}},
		"docs string":       {`externalDocs: x`, []string{"externalDocs: must be an object, not a string"}},
		"rule string": {
			`x-kubernetes-validations: [self]`, []string{"x-kubernetes-validations[0]: must be a rule (an object), not a string"},
		},
		"all at once, sorted": {`
properties:
  b: {type: 1}
  a: {items: {nullable: "no"}}
not: {required: x}`, []string{
			"not.required: must be a list of strings, not a string",
			"properties[a].items.nullable: must be a boolean, not a string",
			"properties[b].type: must be a string, not the number 1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := schema.Decode(yamltest.Value(t, tc.in))
			if s != nil {
				t.Error("got a schema beside the error")
			}
			var all schema.Errors
			if !errors.As(err, &all) {
				t.Fatalf("error is %T: %v", err, err)
			}
			if diff := cmp.Diff(tc.want, strings.Split(all.Error(), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeReportsUnknownKeys(t *testing.T) {
	s, unknown, err := schema.Decode(yamltest.Value(t, `
type: object
x-kubernetes-no-pruning: true
properties:
  a: {x-kubernetes-imutable: true, type: string}
  b: {allOf: [{foo: 1}], externalDocs: {uri: x}, x-kubernetes-validations: [{rul: x}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range unknown {
		got = append(got, path.String())
	}
	want := []string{
		"properties[a].x-kubernetes-imutable",
		"properties[b].allOf[0].foo",
		"properties[b].externalDocs.uri",
		"properties[b].x-kubernetes-validations[0].rul",
		"x-kubernetes-no-pruning",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unknown keys (-want +got):\n%s", diff)
	}
	without := yamltest.Value(t, `{type: object, properties: {a: {type: string}, b: {allOf: [{}], externalDocs: {},
		x-kubernetes-validations: [{}]}}}`)
	if diff := cmp.Diff(without, any(schema.Encode(s))); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

func TestDecodeLimits(t *testing.T) {
	nested := func(depth int) any {
		v := map[string]any{}
		for range depth - 1 {
			v = map[string]any{"not": v}
		}
		return v
	}
	wide := func(nodes int) any {
		properties := map[string]any{}
		for i := range nodes - 1 {
			properties[strings.Repeat("x", i+1)] = map[string]any{}
		}
		return map[string]any{"properties": properties}
	}
	small := schema.Limits{Depth: 5, Nodes: 20}
	for name, tc := range map[string]struct {
		limits schema.Limits
		in     any
		want   string
	}{
		"deep enough":     {small, nested(5), ""},
		"too deep":        {small, nested(6), "not.not.not.not.not: the schema is nested more than 5 levels deep"},
		"wide enough":     {small, wide(20), ""},
		"too wide":        {small, wide(21), "properties[xxxxxxxxxxxxxxxxxxxx]: the schema has more than 20 nodes"},
		"default, fits":   {schema.Limits{}, nested(500), ""},
		"default, a bomb": {schema.Limits{}, nested(1_000_000), "the schema is nested more than 500 levels deep"},
		"a million errors": {
			schema.Limits{}, map[string]any{"required": make([]any, 1_000_000)}, "required[99]: must be a string, not null",
		},
		"a list of garbage": {schema.Limits{}, map[string]any{"allOf": make([]any, 1_000_000)}, "allOf[99]: must be a schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := tc.limits.Decode(tc.in)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("want %q, got %.300v", tc.want, err)
			}
		})
	}
}
