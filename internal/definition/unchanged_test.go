package definition_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"

	"holdfast.dev/holdfast/internal/yamltest"
)

// Validate skips values that did not change. Upstream validates them and then
// drops their errors (ratcheting). Both return the same errors.
func TestUnchangedAsUpstream(t *testing.T) {
	const schema = `
type: object
required: [spec]
properties:
  kind: {type: string, enum: [Other]}
  spec:
    type: object
    required: [must]
    minProperties: 2
    properties:
      must: {type: string}
      num: {type: integer, maximum: 5}
      deep: {type: object, required: [x], properties: {x: {type: string}, y: {type: string, maxLength: 1}}}
      keyed:
        type: array
        maxItems: 2
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer, maximum: 5}}}
      plain: {type: array, items: {type: integer, maximum: 5}}
      values: {type: object, additionalProperties: {type: string, maxLength: 1}}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string, maxLength: 1}}}
      either:
        type: object
        properties: {a: {type: integer}, b: {type: integer}}
        oneOf: [{required: [a]}, {required: [b]}]
        anyOf: [{properties: {a: {maximum: 5}}}, {properties: {b: {maximum: 5}}}]
`
	cases := map[string]struct{ oldObj, newObj string }{
		"nothing was wrong":          {`spec: {must: a, num: 1}`, `spec: {must: a, num: 2}`},
		"wrong before, unchanged":    {`spec: {must: a, num: 9}`, `spec: {must: b, num: 9}`},
		"wrong before, still wrong":  {`spec: {must: a, num: 9}`, `spec: {must: a, num: 8}`},
		"wrong now":                  {`spec: {must: a, num: 1}`, `spec: {must: a, num: 9}`},
		"required, never there":      {`spec: {num: 1, deep: {y: a}}`, `spec: {num: 1, deep: {y: b}}`},
		"required, parent unchanged": {`spec: {must: a, deep: {y: a}}`, `spec: {must: b, deep: {y: a}}`},
		"required, gone":             {`spec: {must: a, num: 1, deep: {x: a}}`, `spec: {num: 1, deep: {}}`},
		"an object that is new":      {`spec: {must: a, num: 1}`, `spec: {must: a, num: 1, deep: {y: long}}`},
		"keyed, in another order": {
			`spec: {must: a, keyed: [{name: a, size: 9}, {name: b}]}`,
			`spec: {must: a, keyed: [{name: b}, {name: a, size: 9}]}`,
		},
		"keyed, too many as before": {
			`spec: {must: a, keyed: [{name: a}, {name: b}, {name: c}]}`,
			`spec: {must: a, keyed: [{name: c}, {name: b}, {name: a}]}`,
		},
		"keyed, one changed": {
			`spec: {must: a, keyed: [{name: a, size: 9}, {name: b, size: 9}]}`,
			`spec: {must: a, keyed: [{name: a, size: 8}, {name: b, size: 9}]}`,
		},
		"keyed, one more": {
			`spec: {must: a, keyed: [{name: a, size: 9}]}`,
			`spec: {must: a, keyed: [{name: a, size: 9}, {name: c, size: 9}]}`,
		},
		"plain, changed elsewhere":     {`spec: {must: a, plain: [9, 1]}`, `spec: {must: a, plain: [9, 2]}`},
		"plain, as it was":             {`spec: {must: a, plain: [9, 1]}`, `spec: {must: b, plain: [9, 1]}`},
		"values":                       {`spec: {must: a, values: {a: long, b: long}}`, `spec: {must: a, values: {a: long, b: longer, c: long}}`},
		"open":                         {`spec: {must: a, open: {a: long, more: 1}}`, `spec: {must: a, open: {a: long, more: 2}}`},
		"logic, as it was":             {`spec: {must: a, either: {a: 9, b: 9}}`, `spec: {must: b, either: {a: 9, b: 9}}`},
		"logic, changed":               {`spec: {must: a, either: {a: 9, b: 9}}`, `spec: {must: a, either: {a: 9, b: 8}}`},
		"another type":                 {`spec: {must: a, deep: {x: a}}`, `spec: {must: a, deep: [1]}`},
		"nothing of the spec is there": {`spec: {must: a, num: 1}`, `{}`},
		"kind":                         {"kind: Widget\nspec: {must: a, num: 1}", "kind: Widget\nspec: {must: a, num: 1}"},
	}
	c := compiled(t, store(t, widgets(schema)))
	typed := *yamltest.Decode[apiextensionsv1.JSONSchemaProps](t, schema)
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&typed, props, nil); err != nil {
		t.Fatal(err)
	}
	upstream, _, err := apiservervalidation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			oldObj, newObj := yamltest.Map(t, test.oldObj), yamltest.Map(t, test.newObj)
			tied := common.NewCorrelatedObject(newObj, oldObj, &model.Structural{Structural: c.Structural})
			want := apiservervalidation.ValidateCustomResourceUpdate(nil, newObj, oldObj, upstream, apiservervalidation.WithRatcheting(tied))
			got := c.Validate(t.Context(), newObj, oldObj)
			if diff := cmp.Diff(messages(want), messages(got)); diff != "" {
				t.Errorf("-upstream +got:\n%s", diff)
			}
		})
	}
}

// messages returns the sorted texts of errors.
func messages(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	slices.Sort(out)
	return out
}
