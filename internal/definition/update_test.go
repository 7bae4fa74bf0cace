package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
)

func TestUpdates(t *testing.T) {
	const lax = `{type: object, properties: {spec: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], ` +
		`items: {type: object, required: [a], properties: {a: {type: string}}}}}}`
	large := strings.Repeat("x{1000}", 30)
	tests := map[string]struct {
		old, new string
		edit     func(oldCRD *definition.CustomResourceDefinition)
		want     []string
	}{
		"nothing changes": {old: widgets(lax), new: widgets(lax)},
		"fields that are immutable once the definition is established": {
			old: widgets(`{type: object}`),
			new: `
metadata: {name: widgets.example.com}
spec:
  group: example.org
  names: {plural: gadgets, kind: Gadget}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`,
			edit: func(oldCRD *definition.CustomResourceDefinition) {
				oldCRD.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
					{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
				}
			},
			want: []string{
				`spec.group: Invalid value: "example.org": field is immutable`,
				`spec.names.kind: Invalid value: "Gadget": field is immutable`,
				`spec.names.plural: Invalid value: "gadgets": field is immutable`,
				`spec.scope: Invalid value: "Cluster": field is immutable`,
			},
		},
		"kind and scope, before it is established": {
			old: widgets(`{type: object}`),
			new: `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Gadget}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`,
		},
		"a stored version goes": {
			old: widgets(`{type: object}`),
			new: `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`,
			want: []string{
				`status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; ` +
					`v1 was previously a storage version, ` +
					`and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from ` +
					`status.storedVersions`,
			},
		},
		"an invalid schema that the update does not change": {
			old: widgets(`{type: object}`), new: widgets(`{type: object, $ref: "#/x"}`),
			edit: func(oldCRD *definition.CustomResourceDefinition) {
				oldCRD.Spec.Versions[0].Schema.OpenAPIV3Schema = []byte(`{"$ref":"#/x","type":"object"}`)
			},
		},
		"a large regular expression that the update does not change": {
			old: widgets(`{type: object}`), new: widgets(`{type: object, properties: {a: {type: string, pattern: "` + large + `"}}}`),
			edit: func(oldCRD *definition.CustomResourceDefinition) {
				oldCRD.Spec.Versions[0].Schema.OpenAPIV3Schema = []byte(`{"properties":{"a":{"pattern":"` + large + `","type":"string"}},"type":"object"}`)
			},
		},
		"a large regular expression that the update adds": {
			old: widgets(`{type: object}`), new: widgets(`{type: object, properties: {a: {type: string, pattern: "` + large + `"}}}`),
			want: []string{"spec.versions[0].schema.openAPIV3Schema.properties[a]: Forbidden: has a regular expression of 30000 steps, " +
				"and at most 20000 are allowed: use fewer or smaller repetitions"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := definition.Write{APIVersion: definition.V1, Old: store(t, test.old)}
			if test.edit != nil {
				test.edit(w.Old)
			}
			if diff := cmp.Diff(test.want, refusals(t, w, updated(read(t, test.new)))); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}

// A definition that was stored without a schema may stay without one.
func TestMissingSchema(t *testing.T) {
	const bare = `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true}]
`
	created := refusals(t, definition.Write{APIVersion: definition.V1}, read(t, bare))
	if diff := cmp.Diff([]string{inSchema(": Required value")}, created); diff != "" {
		t.Errorf("created through v1 (-want +got):\n%s", diff)
	}
	stored := storeV1beta1(t, widgetsV1beta1("prune: false"))
	w := definition.Write{APIVersion: definition.V1, Old: stored}
	if got := refusals(t, w, read(t, bare)); len(got) > 0 {
		t.Errorf("updated through v1: %v", got)
	}
	want := []string{inSchema(": Required value: because otherwise all fields are pruned")}
	if diff := cmp.Diff(want, refusals(t, w, read(t, bare+"  preserveUnknownFields: false\n"))); diff != "" {
		t.Errorf("pruning turned on through v1 (-want +got):\n%s", diff)
	}
	community := strings.ReplaceAll(widgetsV1beta1("prune: false"), "example.com", "things.k8s.io")
	if got := refusals(t, definition.Write{APIVersion: definition.V1beta1}, readV1beta1(t, community)); len(got) > 0 {
		t.Errorf("an API of the community through v1beta1: %v", got)
	}
}

// inSchema returns an error message about the schema of the first version.
func inSchema(line string) string { return "spec.versions[0].schema.openAPIV3Schema" + line }

// updated sets the resourceVersion, as a client does for an update.
func updated(crd *definition.CustomResourceDefinition) *definition.CustomResourceDefinition {
	crd.ResourceVersion = "1"
	return crd
}

// Clients can add markers only through v1.
func TestMarkersThroughV1beta1(t *testing.T) {
	const (
		plain = `validation: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, ` +
			`b: {type: string}}}}}}`
		marked = `validation: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string, ` +
			`x-kubernetes-immutable: true}, b: {type: string}}}}}}`
		moved = `validation: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, ` +
			`b: {type: string, x-kubernetes-immutable: true}}}}}}`
	)
	const refusal = "Forbidden: may not be added through apiextensions.k8s.io/v1beta1: use apiextensions.k8s.io/v1"
	stored := storeV1beta1(t, widgetsV1beta1(plain))
	// The same definition with a marker that was added through v1.
	v1 := readV1beta1(t, widgetsV1beta1(marked))
	v1.ResourceVersion = "1"
	withMarker := accept(t, definition.Write{APIVersion: definition.V1, Old: stored}, v1)

	tests := map[string]struct {
		old      *definition.CustomResourceDefinition
		spec     string
		want     []string
		warnings []string
	}{
		"created with a marker": {
			spec: marked,
			want: []string{"spec.validation.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-immutable: " + refusal},
		},
		"a marker is added": {
			old: stored, spec: marked,
			want: []string{"spec.validation.openAPIV3Schema.properties[spec].properties[a].x-kubernetes-immutable: " + refusal},
		},
		"a marker stays": {old: withMarker, spec: marked},
		"a marker moves": {
			old: withMarker, spec: moved,
			want: []string{"spec.validation.openAPIV3Schema.properties[spec].properties[b].x-kubernetes-immutable: " + refusal},
		},
		"a marker is removed": {
			old: withMarker, spec: plain,
			warnings: []string{"spec.a: x-kubernetes-immutable is gone, so it may change from now on"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := definition.Write{APIVersion: definition.V1beta1, Old: test.old}
			crd := readV1beta1(t, widgetsV1beta1(test.spec))
			crd.ResourceVersion = "1"
			if diff := cmp.Diff(test.want, refusals(t, w, crd)); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			if test.want == nil {
				if diff := cmp.Diff(test.warnings, w.Warnings(crd)); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestV1beta1ConversionErrors(t *testing.T) {
	got := refusals(t, definition.Write{APIVersion: definition.V1beta1}, readV1beta1(t, widgetsV1beta1(`
validation: {openAPIV3Schema: {type: object}}
subresources: {status: {}}
additionalPrinterColumns: [{name: A, type: string, JSONPath: .a}]
selectableFields: [{jsonPath: .spec.a}]
conversion: {strategy: None, webhookClientConfig: {url: "https://example.com"}}
versions:
- name: v2
  served: true
  storage: true
  schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}}
  subresources: {status: {}}
  additionalPrinterColumns: [{name: A, type: string, JSONPath: a}]
  selectableFields: [{jsonPath: .spec.a}]
`)))
	want := []string{
		`spec.additionalPrinterColumns: Forbidden: top-level and per-version additionalPrinterColumns are mutually exclusive`,
		`spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .`,
		`spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook`,
		`spec.selectableFields: Forbidden: top-level and per-version selectableFields are mutually exclusive`,
		`spec.subresources: Forbidden: top-level and per-version subresources are mutually exclusive`,
		`spec.validation: Forbidden: top-level and per-version schemas are mutually exclusive`,
		`spec.version: Invalid value: "v1": must match the first version in spec.versions`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if errs := v1beta1.FromStored(storeV1beta1(t, widgetsV1beta1(`prune: false`))).ToStored().Spec.ConversionErrors; len(errs) > 0 {
		t.Errorf("conversion errors after FromStored: %v", errs)
	}
}
