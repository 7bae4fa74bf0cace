package definition_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/yamltest"
)

// Each row writes the flags of a definition with the versions v1 and v2. stored
// are the flags of the stored definition, which was written through v1beta1. If
// stored is empty, the row creates the definition.
func TestPruning(t *testing.T) {
	const instead = ", set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
	const (
		on    = "preserveUnknownFields: false"
		off   = "preserveUnknownFields: true"
		mixed = "versions: [{name: v1, prune: true}, {name: v2, prune: false}]"
	)
	tests := map[string]struct {
		stored  string
		through string
		write   string
		v1      string // what v1 shows afterwards
		beta    string // what v1beta1 shows afterwards
		want    []string
	}{
		"v1, no flag":                  {through: "v1", v1: "", beta: on},
		"v1, prune: true":              {through: "v1", write: "prune: true", v1: "", beta: on},
		"v1, prune: true in a version": {through: "v1", write: "versions: [{name: v1, prune: true}]", v1: "", beta: on},
		"v1beta1, no flag":             {through: "v1beta1", v1: off, beta: off},
		"v1beta1, prune: true":         {through: "v1beta1", write: "prune: true", v1: "", beta: on},
		"v1beta1, prune: false":        {through: "v1beta1", write: "prune: false", v1: off, beta: off},
		"v1beta1, not preserved":       {through: "v1beta1", write: on, v1: "", beta: on},
		"v1beta1, both, in agreement":  {through: "v1beta1", write: "prune: true\npreserveUnknownFields: false", v1: "", beta: on},
		"v1beta1, one version": {
			through: "v1beta1",
			write:   "versions: [{name: v1, prune: true}, {name: v2, prune: false}]",
			v1:      "versions: [{name: v1}, {name: v2, prune: false}]",
			beta:    mixed,
		},
		"v1beta1, a flag in one version": {
			through: "v1beta1",
			write:   "versions: [{name: v1, prune: true}, {name: v2}]",
			v1:      "versions: [{name: v1}, {name: v2, prune: false}]",
			beta:    mixed,
		},
		"v1 keeps on":                 {stored: on, through: "v1", v1: "", beta: on},
		"v1 keeps off, no flag":       {stored: off, through: "v1", v1: off, beta: off},
		"v1 keeps off, with the flag": {stored: off, through: "v1", write: off, v1: off, beta: off},
		"v1 keeps mixed, no flag":     {stored: mixed, through: "v1", v1: "versions: [{name: v1}, {name: v2, prune: false}]", beta: mixed},
		"v1 keeps mixed, with the flag": {
			stored:  mixed,
			through: "v1",
			write:   "versions: [{name: v1}, {name: v2, prune: false}]",
			v1:      "versions: [{name: v1}, {name: v2, prune: false}]",
			beta:    mixed,
		},
		"v1 turns it on":    {stored: off, through: "v1", write: on, v1: "", beta: on},
		"v1 turns mixed on": {stored: mixed, through: "v1", write: on, v1: "", beta: on},
		"v1 turns a version on": {
			stored:  mixed,
			through: "v1",
			write:   "versions: [{name: v1}, {name: v2, prune: true}]",
			v1:      "",
			beta:    on,
		},
		"v1beta1 keeps on": {stored: on, through: "v1beta1", v1: "", beta: on},
		"v1beta1 keeps mixed": {
			stored:  mixed,
			through: "v1beta1",
			v1:      "versions: [{name: v1}, {name: v2, prune: false}]",
			beta:    mixed,
		},
		"v1beta1 turns it off": {stored: on, through: "v1beta1", write: off, v1: off, beta: off},
		"v1beta1 turns it on":  {stored: off, through: "v1beta1", write: "prune: true", v1: "", beta: on},
		"v1 may not be created off": {
			through: "v1",
			write:   off,
			want:    []string{`spec.preserveUnknownFields: Invalid value: true: cannot set to true` + instead},
		},
		"v1 may not be created unpruned": {
			through: "v1",
			write:   "prune: false",
			want:    []string{`spec.prune: Invalid value: false: cannot set to false` + instead},
		},
		"v1 may not be created with a version unpruned": {
			through: "v1", write: "versions: [{name: v1}, {name: v2, prune: false}]",
			want: []string{`spec.versions[1].prune: Invalid value: false: cannot set to false` + instead},
		},
		"v1 may not turn it off": {
			stored:  on,
			through: "v1",
			write:   off,
			want:    []string{`spec.preserveUnknownFields: Invalid value: true: cannot set to true` + instead},
		},
		"v1 may not turn mixed off": {
			stored:  mixed,
			through: "v1",
			write:   off,
			want:    []string{`spec.preserveUnknownFields: Invalid value: true: cannot set to true` + instead},
		},
		"v1 may not turn another version off": {
			stored: mixed, through: "v1", write: "versions: [{name: v1, prune: false}, {name: v2, prune: false}]",
			want: []string{`spec.versions[0].prune: Invalid value: false: cannot set to false` + instead},
		},
		"a contradiction at the top": {
			through: "v1beta1", write: "prune: true\npreserveUnknownFields: true",
			want: []string{`spec.prune: Invalid value: true: contradicts spec.preserveUnknownFields: true`},
		},
		"a contradiction in v1": {
			stored: mixed, through: "v1", write: on + "\nversions: [{name: v1}, {name: v2, prune: false}]",
			want: []string{`spec.versions[1].prune: Invalid value: false: contradicts spec.preserveUnknownFields: false`},
		},
		"a version against the top": {
			through: "v1beta1", write: "prune: true\nversions: [{name: v1, prune: false}, {name: v2}]",
			want: []string{`spec.versions[0].prune: Invalid value: false: contradicts spec.prune: true`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := definition.Write{APIVersion: test.through}
			if test.stored != "" {
				w.Old = accept(t, definition.Write{APIVersion: definition.V1beta1}, flagged(t, "v1beta1", test.stored))
			}
			crd := flagged(t, test.through, test.write)
			if diff := cmp.Diff(test.want, refusals(t, w, crd)); diff != "" {
				t.Fatalf("refusals (-want +got):\n%s", diff)
			}
			if test.want != nil {
				return
			}
			if diff := cmp.Diff(flags(t, []byte(test.v1)), flags(t, asJSON(t, map[string]any{"spec": crd.Spec}))); diff != "" {
				t.Errorf("v1 shows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(flags(t, []byte(test.beta)), flags(t, asJSON(t, map[string]any{"spec": v1beta1.FromStored(crd).Spec}))); diff != "" {
				t.Errorf("v1beta1 shows (-want +got):\n%s", diff)
			}
		})
	}
}

// flagged returns a definition with two versions and the given flags.
func flagged(t *testing.T, version, write string) *definition.CustomResourceDefinition {
	t.Helper()
	both := `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, description: second}}}
`
	crd := read(t, both)
	if version == "v1beta1" {
		crd = readV1beta1(t, both)
	}
	given := *yamltest.Decode[definition.CustomResourceDefinitionSpec](t, write)
	crd.Spec.Prune, crd.Spec.PreserveUnknownFields = given.Prune, given.PreserveUnknownFields
	for i, v := range given.Versions {
		crd.Spec.Versions[i].Prune = v.Prune
	}
	return crd
}

// flags returns the pruning flags of a spec or of a definition.
func flags(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var crd struct {
		Spec map[string]any `json:"spec"`
	}
	var top map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	if crd.Spec != nil {
		top = crd.Spec
	}
	out := map[string]any{}
	for _, name := range []string{"prune", "preserveUnknownFields"} {
		if value, ok := top[name]; ok {
			out[name] = value
		}
	}
	versions, _ := top["versions"].([]any)
	for _, v := range versions {
		if v := v.(map[string]any); v["prune"] != nil {
			out[v["name"].(string)] = v["prune"]
		}
	}
	return out
}

func asJSON(t testing.TB, value any) []byte {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFieldsThatNeedPruning(t *testing.T) {
	const webhook = `
conversion:
  strategy: Webhook
  webhookClientConfig: {url: "https://example.com/convert"}
  conversionReviewVersions: [v1]
`
	const twoVersions = `
versions:
- {name: v1, served: true, storage: true, prune: true, schema: {openAPIV3Schema: {type: object,
    properties: {a: {type: string, default: x}}}}}
- {name: v2, served: true, storage: false, prune: false, schema: {openAPIV3Schema: {type: object,
    properties: {b: {type: string, default: x}}}}}
`
	tests := map[string]struct {
		spec string
		want []string
	}{
		"a default": {
			spec: `validation: {openAPIV3Schema: {type: object, properties: {a: {type: string, default: x}}}}`,
			want: []string{`spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults in the schema`},
		},
		"a default in one of the versions": {
			spec: twoVersions,
			want: []string{`spec.versions[1].prune: Invalid value: false: must be true in order to use defaults in the schema`},
		},
		"a conversion webhook": {
			spec: webhook,
			want: []string{`spec.conversion.strategy: Invalid value: "Webhook": must be None if spec.preserveUnknownFields is true`},
		},
		"a schema, when served": {
			spec: `prune: true`,
			want: []string{`spec.validation.openAPIV3Schema: Required value: because otherwise all fields are pruned`},
		},
		"no schema otherwise": {spec: `prune: false`},
		"extensions in logic": {
			spec: "prune: true\nvalidation: {openAPIV3Schema: {type: object, properties: {a: {anyOf: [{type: object, " +
				"x-kubernetes-no-prune: true}]}}}}",
			want: []string{
				`spec.validation.openAPIV3Schema.properties[a].anyOf[0].x-kubernetes-no-prune: Forbidden: must not be used inside allOf, ` +
					`anyOf, oneOf or not`,
			},
		},
		"extensions in logic, not pruned": {
			spec: `validation: {openAPIV3Schema: {type: object, properties: {a: {anyOf: [{type: object, x-kubernetes-no-prune: true}]}}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := refusals(t, definition.Write{APIVersion: definition.V1beta1}, readV1beta1(t, widgetsV1beta1(test.spec)))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}
