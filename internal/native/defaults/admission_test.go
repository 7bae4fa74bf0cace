package defaults_test

import "testing"

func TestAdmission(t *testing.T) {
	const (
		rules      = `[{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`
		rulesAfter = `[{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: "*"}]`
	)
	manifests{
		"MutatingWebhookConfiguration": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
webhooks:
- name: a.b.c
  clientConfig: {service: {name: s, namespace: a}}
  sideEffects: None
  admissionReviewVersions: [v1]
  rules: ` + rules,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
webhooks:
- name: a.b.c
  clientConfig: {service: {name: s, namespace: a, port: 443}}
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  matchPolicy: Equivalent
  reinvocationPolicy: Never
  timeoutSeconds: 10
  namespaceSelector: {}
  objectSelector: {}
  rules: ` + rulesAfter,
		},
		"ValidatingWebhookConfiguration": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
webhooks:
- {name: a.b.c, clientConfig: {service: {name: s, namespace: a}}, sideEffects: None, admissionReviewVersions: [v1], rules: ` + rules + `}
- name: explicit
  clientConfig: {url: "https://a"}
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  matchPolicy: Exact
  timeoutSeconds: 1
  namespaceSelector: {matchLabels: {a: b}}
  objectSelector: {matchLabels: {c: d}}
`,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
webhooks:
- name: a.b.c
  clientConfig: {service: {name: s, namespace: a, port: 443}}
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  matchPolicy: Equivalent
  timeoutSeconds: 10
  namespaceSelector: {}
  objectSelector: {}
  rules: ` + rulesAfter + `
- name: explicit
  clientConfig: {url: "https://a"}
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  matchPolicy: Exact
  timeoutSeconds: 1
  namespaceSelector: {matchLabels: {a: b}}
  objectSelector: {matchLabels: {c: d}}
`,
		},
		"ValidatingAdmissionPolicy": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
spec: {matchConstraints: {resourceRules: ` + rules + `, excludeResourceRules: ` + rules + `}}
`,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules: ` + rulesAfter + `
    excludeResourceRules: ` + rulesAfter,
		},
		"ValidatingAdmissionPolicyBinding": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
spec: {policyName: p, matchResources: {}}
`,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
spec: {policyName: p, matchResources: {matchPolicy: Equivalent, namespaceSelector: {}, objectSelector: {}}}
`,
		},
		"ValidatingAdmissionPolicyBinding without matchResources": {
			in: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, ` +
				`spec: {policyName: p, paramRef: {name: r}}}`,
			want: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, ` +
				`spec: {policyName: p, paramRef: {name: r}}}`,
		},
		"MutatingAdmissionPolicy": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
spec: {matchConstraints: {resourceRules: ` + rules + `}}
`,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector: {}
    objectSelector: {}
    resourceRules: ` + rulesAfter,
		},
		"MutatingAdmissionPolicyBinding": {
			in: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
spec: {policyName: p, matchResources: {namespaceSelector: {matchLabels: {a: b}}}}
`,
			want: `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
spec: {policyName: p, matchResources: {matchPolicy: Equivalent, namespaceSelector: {matchLabels: {a: b}}, objectSelector: {}}}
`,
		},
	}.run(t)
}
