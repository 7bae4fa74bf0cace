package columns_test

import "testing"

func TestAdmission(t *testing.T) {
	rows{
		"MutatingWebhookConfiguration": {
			object: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
webhooks: [{name: a, clientConfig: {}, sideEffects: None, admissionReviewVersions: [v1]}]
`,
			want: `
Name: a
Webhooks: 1
Age: 10m`,
		},
		"ValidatingWebhookConfiguration": {
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, ` +
				`metadata: {name: a}, webhooks: [{name: a, clientConfig: {}, sideEffects: None, admissionReviewVersions: [v1]}]}`,
			want: `
Name: a
Webhooks: 1
Age: <unknown>`,
		},
		"ValidatingAdmissionPolicy": {
			object: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {validations: [{expression: "true"}, {expression: "true"}], paramKind: {apiVersion: a.com/v1, kind: P}}
`,
			want: `
Name: a
Validations: 2
ParamKind: a.com/v1/P
Age: 10m`,
		},
		"ValidatingAdmissionPolicyBinding": {
			object: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {policyName: p, paramRef: {name: r, namespace: ns}}
`,
			want: `
Name: a
PolicyName: p
ParamRef: ns/r
Age: 10m`,
		},
		"ValidatingAdmissionPolicyBinding with a selector": {
			object: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: a}
spec: {policyName: p, paramRef: {selector: {matchLabels: {a: b}}}}
`,
			want: `
Name: a
PolicyName: p
ParamRef: &LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}
Age: <unknown>`,
		},
		"MutatingAdmissionPolicy": {
			object: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {mutations: [{patchType: JSONPatch}]}
`,
			want: `
Name: a
Mutations: 1
ParamKind: <unset>
Age: 10m`,
		},
		"MutatingAdmissionPolicyBinding": {
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, ` +
				`metadata: {name: a}, spec: {policyName: p, paramRef: {name: r}}}`,
			want: `
Name: a
PolicyName: p
ParamRef: */r
Age: <unknown>`,
		},
		"MutatingAdmissionPolicyBinding without parameters": {
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, ` +
				`metadata: {name: a}, spec: {policyName: p}}`,
			want: `
Name: a
PolicyName: p
ParamRef: <unset>
Age: <unknown>`,
		},
		"MutatingAdmissionPolicyBinding with an empty paramRef": {
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, ` +
				`metadata: {name: a}, spec: {policyName: p, paramRef: {}}}`,
			want: `
Name: a
PolicyName: p
ParamRef: <unset>
Age: <unknown>`,
		},
	}.run(t)
}
