package judgement_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/native/judgement"
	"holdfast.dev/holdfast/internal/yamltest"
)

// The canonical form of an applied definition has the shape of the stored object, and
// only the fields that the file has.
func TestCanonicalDefinition(t *testing.T) {
	const v1, v1beta1 = "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"
	tests := map[string]struct {
		apiVersion string
		spec, want string
		unknown    []string
	}{
		"v1beta1": {
			apiVersion: v1beta1,
			spec: `
version: v1
validation: {openAPIV3Schema: {type: object, maximum: 1.0}}
additionalPrinterColumns: [{name: A, type: string, JSONPath: .a, priority: 0}]
`,
			want: `
versions:
- name: v1
  served: true
  storage: true
  schema: {openAPIV3Schema: {type: object, maximum: 1.0}}
  additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]
`,
		},
		"zeros": {
			apiVersion: v1,
			spec: `versions: [{name: v1, served: true, storage: true, deprecated: false,
  additionalPrinterColumns: [{name: A, type: string, jsonPath: .a, priority: 0}]}]`,
			want: `versions: [{name: v1, served: true, storage: true, additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]}]`,
		},
		"pruning as it is said": {
			apiVersion: v1,
			spec:       "preserveUnknownFields: false\nversions: [{name: v1, served: true, storage: true, prune: true}]",
			want:       "preserveUnknownFields: false\nversions: [{name: v1, served: true, storage: true}]",
		},
		"pruning off": {
			apiVersion: v1beta1,
			spec:       "prune: false\nversions: [{name: v1, served: true, storage: true}]",
			want:       "preserveUnknownFields: true\nversions: [{name: v1, served: true, storage: true}]",
		},
		"pruning off in one version": {
			apiVersion: v1beta1,
			spec:       "versions: [{name: v1, served: true, storage: true, prune: true}, {name: v2, served: true, storage: false}]",
			want:       "versions: [{name: v1, served: true, storage: true}, {name: v2, served: true, storage: false, prune: false}]",
		},
		"unknown fields and keywords": {
			apiVersion: v1,
			spec:       `versions: [{name: v1, served: true, storage: true, colour: red, schema: {openAPIV3Schema: {type: object, x-mine: 1}}}]`,
			want:       `versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]`,
			unknown:    []string{`"spec.versions[0].colour"`, `"spec.versions[0].schema.openAPIV3Schema.x-mine"`},
		},
	}
	const head = "group: example.com\nscope: Cluster\nnames: {plural: widgets, kind: Widget}\n"
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config, err := json.Marshal(map[string]any{
				"apiVersion": test.apiVersion, "kind": "CustomResourceDefinition", "spec": yamltest.Map(t, head+test.spec),
			})
			if err != nil {
				t.Fatal(err)
			}
			got, unknown, err := judgement.CanonicalDefinition(config)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(yamltest.Map(t, head+test.want), got["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.unknown, unknown); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
		})
	}
	for config, want := range map[string]string{
		`{"apiVersion":"v1","kind":"Secret"}`:                                        `kind "Secret", not CustomResourceDefinition`,
		`{"apiVersion":"apiextensions.k8s.io/v7","kind":"CustomResourceDefinition"}`: `version "apiextensions.k8s.io/v7" is not known`,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":1}`: "json: cannot unmarshal number into Go struct field " +
			"CustomResourceDefinition.spec of type definition.CustomResourceDefinitionSpec",
	} {
		if _, _, err := judgement.CanonicalDefinition([]byte(config)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
	if _, _, err := judgement.CanonicalDefinition([]byte("{}")); err != nil {
		t.Errorf("nothing: %v", err)
	}
}
