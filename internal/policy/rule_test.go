package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestValidate checks that each error names the place of what is wrong.
func TestValidate(t *testing.T) {
	for spec, want := range map[string][]string{
		`{resources: [configmaps], structuredRules: [{constraint: immutable, path: data}, {constraint: no-delete, unless: retire},
  {constraint: "update=NoSet,NoModify", path: 'metadata.labels["a b"]', while: "oldSelf.data.a ==\n  'x'\n", mode: warn, versions: [v1, v2]}]}`: nil,
		`{resources: [configmaps], rules: [immutable data, warn frozen data, "# no rule"]}`: {
			`spec.rules[1]: Invalid value: "warn frozen data": "frozen": must be `, `spec.rules[2]: Invalid value: "# no rule": "#": must be `,
		},
		`{resources: [configmaps], structuredRules: [{constraint: frozen, path: data}, {constraint: warn, path: immutable data}]}`: {
			`spec.structuredRules[0].constraint: Invalid value: "frozen": `, `spec.structuredRules[1].constraint: Invalid value: "warn": `,
		},
		`{resources: [configmaps], structuredRules: [{constraint: immutable}, {constraint: immutable, path: "a..b"}, {constraint: no-delete, path: data},
  {constraint: immutable, path: data while false}, {constraint: immutable, path: data unless resize}, {constraint: immutable, path: metadata.name}]}`: {
			`spec.structuredRules[0].path: Required value`, `spec.structuredRules[1].path: Invalid value: "a..b": `,
			`spec.structuredRules[2].path: Invalid value: "data": a rule no-delete is about the object`,
			`spec.structuredRules[3].path: Invalid value: "data while false": must be a path`,
			`spec.structuredRules[4].path: Invalid value: "data unless resize": must be a path`,
			`spec.structuredRules[5].path: Invalid value: "metadata.name": metadata.name: in metadata`,
		},
		`{resources: [configmaps], structuredRules: [{constraint: no-delete, unless: get}, {constraint: no-delete, unless: "retire while false"}]}`: {
			`spec.structuredRules[0].unless: Invalid value: "get": `, `spec.structuredRules[1].unless: Invalid value: "retire while false": `,
		},
		`{resources: [configmaps], structuredRules: [{constraint: no-delete, while: " "}, {constraint: no-delete, while: "true // always\n && false"}]}`: {
			`spec.structuredRules[0].while: Invalid value: " ": the expression is empty`, `spec.structuredRules[1].while: Invalid value: `,
		},
		`{mode: Warn, resources: [configmaps], structuredRules: [{constraint: no-delete, mode: "off", versions: ["v1: warn"]}]}`: {
			`spec.mode: Unsupported value: "Warn"`, `spec.structuredRules[0].mode: Unsupported value: "off"`,
			`spec.structuredRules[0].versions[0]: Invalid value: "v1: warn"`,
		},
		`{rules: [immutable data], objectSelector: {matchExpressions: [{key: a, operator: Like}]}}`: {
			`spec.resources: Required value`, `spec.objectSelector: Invalid value`,
		},
	} {
		found, err := policy.Decode(yamltest.Object(t, "{spec: "+spec+"}"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, err := range found.Validate() {
			text := err.Error()
			if i < len(want) && strings.HasPrefix(text, want[i]) {
				text = want[i]
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}
