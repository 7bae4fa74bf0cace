package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
)

// Upstream's rules validate everything in a definition but the schemas. The errors are
// upstream's.
func TestDefinitions(t *testing.T) {
	const two = `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`
	tests := map[string]struct {
		crd  string
		want []string
	}{
		"two versions with the same schema": {crd: two},
		"nothing at all": {
			crd: `{metadata: {name: x}, spec: {group: "", names: {plural: "", kind: ""}, scope: "", versions: []}}`,
			want: []string{
				`metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group`,
				`spec.group: Required value`,
				`spec.names.kind: Required value`,
				`spec.names.listKind: Required value`,
				`spec.names.plural: Required value`,
				`spec.names.singular: Required value`,
				`spec.scope: Required value`,
				`spec.versions: Invalid value: []: must have exactly one version marked as storage version`,
				`status.storedVersions: Invalid value: null: must have at least one stored version`,
			},
		},
		"names, columns, selectable fields, scale": {
			crd: `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: "-", listKind: "-", shortNames: [W]}
  scope: Elsewhere
  versions:
  - name: v1
    served: true
    storage: true
    deprecationWarning: old
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {}, b: {type: string}}}}}}
    additionalPrinterColumns: [{name: A, type: thing, jsonPath: spec}]
    selectableFields: [{jsonPath: .spec.a}, {jsonPath: .spec.b}, {jsonPath: .spec.c}]
    subresources: {scale: {specReplicasPath: .status.a, statusReplicasPath: ""}}
`,
			want: []string{
				`spec.names.kind: Invalid value: "-": may have mixed case, ` +
					`but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', ` +
					`start with an alphabetic character, and end with an alphanumeric character (e.g. ` +
					`'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
				`spec.names.listKind: Invalid value: "-": kind and listKind may not be the same`,
				`spec.names.listKind: Invalid value: "-": may have mixed case, ` +
					`but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', ` +
					`start with an alphabetic character, and end with an alphanumeric character (e.g. ` +
					`'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
				`spec.names.shortNames[0]: Invalid value: "W": ` +
					`a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, ` +
					`and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
				`spec.names.singular: Invalid value: "-": a DNS-1035 label must consist of lower case alphanumeric characters or '-', ` +
					`start with an alphabetic character, and end with an alphanumeric character (e.g. ` +
					`'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
				`spec.scope: Unsupported value: "Elsewhere": supported values: "Cluster", "Namespaced"`,
				`spec.versions[0].additionalPrinterColumns[0].jsonPath: Invalid value: "spec": must be a simple json path starting with .`,
				`spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "thing": must be one of boolean,date,integer,number,string`,
				`spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions`,
				`spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.a": must point to a field of type string, ` +
					`boolean or integer. Enum string fields and strings with formats are allowed.`,
				`spec.versions[0].selectableFields[2].jsonPath: Invalid value: ".spec.c": is an invalid path: does not refer to a valid field`,
				`spec.versions[0].subresources.scale.specReplicasPath: Invalid value: ".status.a": should be a json path under .spec`,
				`spec.versions[0].subresources.scale.statusReplicasPath: Required value`,
			},
		},
		"versions": {
			crd: `
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, selectableFields: [{jsonPath: .spec.a}]}
`,
			want: []string{
				`spec.versions: Invalid value: ["v1","v1"]: must contain unique version names`,
				`spec.versions: Invalid value: ["v1","v1"]: must have exactly one version marked as storage version`,
				`spec.versions[1].schema.openAPIV3Schema: Required value`,
				"spec.versions[1].selectableFields: Invalid value: \"\": may only be set when `version.schema.openAPIV3Schema` is included",
				`status.storedVersions: Invalid value: ["v1"]: must have the storage version v1`,
			},
		},
		"conversion": {
			crd: two + `
  conversion:
    strategy: Webhook
    webhook: {clientConfig: {url: "http://example.com"}, conversionReviewVersions: [v7]}
`,
			want: []string{
				`spec.conversion.webhook.clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; ` +
					`desired format: https://host[/path]`,
				`spec.conversion.webhook.conversionReviewVersions: Invalid value: ["v7"]: must include at least one of v1, v1beta1`,
			},
		},
		"keywords that are forbidden at the root beside a status": {
			crd: widgets(`{type: object, maxProperties: 3}`) + "    subresources: {status: {}}\n",
			want: []string{
				`spec.versions[0].schema.openAPIV3Schema: Invalid value: ` +
					`only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern ` +
					`MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields ` +
					`XValidations] fields are allowed at the root of the schema if the status subresource is enabled`,
			},
		},
		"logic at the root beside a status": {
			crd: widgets(`{type: object, anyOf: [{required: [spec]}], properties: {spec: {type: object}}}`) + "    subresources: {status: {}}\n",
		},
		"a conversion webhook that is a service": {
			crd: two + `
  conversion:
    strategy: Webhook
    webhook: {clientConfig: {service: {name: a, namespace: b, path: /c//d, port: 70000}}, conversionReviewVersions: [v1]}
`,
			want: []string{
				`spec.conversion.webhook.clientConfig.service.path: Invalid value: "/c//d": segment[1] may not be empty`,
				`spec.conversion.webhook.clientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive`,
			},
		},
		"an API of the community": {
			crd: `
metadata: {name: widgets.things.k8s.io}
spec:
  group: things.k8s.io
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`,
			want: []string{
				`metadata.annotations[api-approved.kubernetes.io]: Required value: ` +
					`protected groups must have approval annotation "api-approved.kubernetes.io", ` +
					`see https://github.com/kubernetes/enhancements/pull/1111`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := refusals(t, definition.Write{APIVersion: definition.V1}, read(t, test.crd))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}
