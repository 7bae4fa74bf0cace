package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A definition in v1beta1 is converted to the stored form and back.
func TestConversion(t *testing.T) {
	tests := map[string]struct {
		spec, stored string
		shown        string // like spec if empty
	}{
		"everything at the top": {
			spec: `
version: v1
versions: [{name: v1, served: true, storage: true}, {name: v2, served: true, storage: false}]
validation: {openAPIV3Schema: {type: object, x-kubernetes-no-prune: true}}
subresources: {status: {}, scale: {specReplicasPath: .spec.r, statusReplicasPath: .status.r}}
additionalPrinterColumns: [{name: A, type: string, JSONPath: .a}]
selectableFields: [{jsonPath: .spec.a}]
preserveUnknownFields: false
`,
			stored: `
versions:
- name: v1
  served: true
  storage: true
  schema: {openAPIV3Schema: {type: object, x-kubernetes-no-prune: true}}
  subresources: {status: {}, scale: {specReplicasPath: .spec.r, statusReplicasPath: .status.r}}
  additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]
  selectableFields: [{jsonPath: .spec.a}]
- name: v2
  served: true
  storage: false
  schema: {openAPIV3Schema: {type: object, x-kubernetes-no-prune: true}}
  subresources: {status: {}, scale: {specReplicasPath: .spec.r, statusReplicasPath: .status.r}}
  additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]
  selectableFields: [{jsonPath: .spec.a}]
`,
		},
		"everything in the versions": {
			spec: `
version: v1
versions:
- name: v1
  served: true
  storage: true
  prune: true
  deprecated: true
  deprecationWarning: old
  schema: {openAPIV3Schema: {type: object}}
  subresources: {status: {}}
  additionalPrinterColumns: [{name: A, type: string, JSONPath: .a, priority: 1, format: date, description: a}]
  selectableFields: [{jsonPath: .spec.a}]
- {name: v2, served: true, storage: false, prune: false}
`,
			stored: `
versions:
- name: v1
  served: true
  storage: true
  deprecated: true
  deprecationWarning: old
  schema: {openAPIV3Schema: {type: object}}
  subresources: {status: {}}
  additionalPrinterColumns: [{name: A, type: string, jsonPath: .a, priority: 1, format: date, description: a}]
  selectableFields: [{jsonPath: .spec.a}]
- {name: v2, served: true, storage: false, prune: false}
`,
		},
		"a version and no list": {
			spec:   "version: v1\npreserveUnknownFields: true",
			stored: "versions: [{name: v1, served: true, storage: true}]\npreserveUnknownFields: true",
			shown:  "version: v1\nversions: [{name: v1, served: true, storage: true}]\npreserveUnknownFields: true",
		},
		"the same in all versions moves to the top": {
			spec: `
version: v1
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
prune: true
`,
			stored: "versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]",
			shown: `
version: v1
versions: [{name: v1, served: true, storage: true}]
validation: {openAPIV3Schema: {type: object}}
preserveUnknownFields: false
`,
		},
		"a webhook": {
			spec: `
version: v1
versions: [{name: v1, served: true, storage: true}]
preserveUnknownFields: false
conversion:
  strategy: Webhook
  conversionReviewVersions: [v1, v1beta1]
  webhookClientConfig: {caBundle: YQ==, service: {name: a, namespace: b, path: /c, port: 8443}}
`,
			stored: `
versions: [{name: v1, served: true, storage: true}]
conversion:
  strategy: Webhook
  webhook:
    conversionReviewVersions: [v1, v1beta1]
    clientConfig: {caBundle: YQ==, service: {name: a, namespace: b, path: /c, port: 8443}}
`,
		},
	}
	const head = "group: example.com\nscope: Cluster\nnames: {plural: widgets, kind: Widget}\n"
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			crd := &v1beta1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict([]byte(head+test.spec), &crd.Spec); err != nil {
				t.Fatal(err)
			}
			stored := crd.ToStored()
			definition.Write{APIVersion: definition.V1beta1}.Prepare(stored)
			if diff := cmp.Diff(yamltest.Map(t, []byte(head+test.stored)), yamltest.Map(t, marshal(t, stored.Spec))); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if test.shown == "" {
				test.shown = test.spec
			}
			if diff := cmp.Diff(yamltest.Map(t, []byte(head+test.shown)), yamltest.Map(t, marshal(t, v1beta1.FromStored(stored).Spec))); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
