package defaults_test

import "testing"

func TestNetworking(t *testing.T) {
	inOut{
		"NetworkPolicy": {
			in: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {ingress: [{ports: [{port: 80}, {port: 53, protocol: UDP}]}]}}`,
			want: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
spec:
  ingress: [{ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}]}]
  policyTypes: [Ingress]
`,
		},
		"NetworkPolicy for both ways": {
			in: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {egress: [{ports: [{port: 80}]}]}}`,
			want: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
spec:
  egress: [{ports: [{port: 80, protocol: TCP}]}]
  policyTypes: [Ingress, Egress]
`,
		},
		"NetworkPolicy for the way out": {
			in:   `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Egress]}}`,
			want: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Egress]}}`,
		},
		"IngressClass": {
			in:   `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: a.com/b, parameters: {kind: A, name: a}}}`,
			want: `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: a.com/b, parameters: {kind: A, name: a, scope: Cluster}}}`,
		},
		"IngressClass without parameters": {
			in:   `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: a.com/b}}`,
			want: `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: a.com/b}}`,
		},
		"Ingress": {
			in:   `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: a.com, http: {paths: [{path: /}]}}]}}`,
			want: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: a.com, http: {paths: [{path: /}]}}]}}`,
		},
		"EndpointSlice": {
			in: `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{port: 80}, {name: dns, protocol: UDP}]}`,
			want: `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
ports: [{name: "", port: 80, protocol: TCP}, {name: dns, protocol: UDP}]
`,
		},
	}.run(t)
}

func TestRBAC(t *testing.T) {
	inOut{
		"RoleBinding": {
			in: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
roleRef: {kind: Role, name: r}
subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: ServiceAccount, name: s, namespace: a}]
`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: u}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: g}
- {kind: ServiceAccount, name: s, namespace: a}
`,
		},
		"ClusterRoleBinding": {
			in: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
roleRef: {kind: ClusterRole, name: r}
subjects: [{kind: Group, name: g}, {kind: Other, name: o}, {apiGroup: a.com, kind: User, name: u}]
`,
			want: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: g}, {kind: Other, name: o}, {apiGroup: a.com, kind: User, name: u}]
`,
		},
	}.run(t)
}

func TestClasses(t *testing.T) {
	inOut{
		"StorageClass": {
			in:   `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a.com/b}`,
			want: `{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a.com/b, reclaimPolicy: Delete, volumeBindingMode: Immediate}`,
		},
		"StorageClass that waits": {
			in:   `{apiVersion: storage.k8s.io/v1, kind: StorageClass, reclaimPolicy: Retain, volumeBindingMode: WaitForFirstConsumer}`,
			want: `{apiVersion: storage.k8s.io/v1, kind: StorageClass, reclaimPolicy: Retain, volumeBindingMode: WaitForFirstConsumer}`,
		},
		"PriorityClass": {
			in:   `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1}`,
			want: `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1, preemptionPolicy: PreemptLowerPriority}`,
		},
		"PriorityClass that never preempts": {
			in:   `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1, preemptionPolicy: Never}`,
			want: `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1, preemptionPolicy: Never}`,
		},
	}.run(t)
}

func TestAdmission(t *testing.T) {
	const (
		rules      = `[{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]`
		rulesAfter = `[{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods], scope: "*"}]`
	)
	inOut{
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
- name: told
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
- name: told
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
		"ValidatingAdmissionPolicyBinding of everything": {
			in:   `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, spec: {policyName: p, paramRef: {name: r}}}`,
			want: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, spec: {policyName: p, paramRef: {name: r}}}`,
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
