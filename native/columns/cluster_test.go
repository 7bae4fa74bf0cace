package columns_test

import "testing"

func TestNetworking(t *testing.T) {
	shown{
		"Ingress": {
			object: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  ingressClassName: nginx
  tls: [{hosts: [a.com]}]
  rules: [{host: a.com}, {}, {host: b.com}, {host: c.com}, {host: d.com}]
status: {loadBalancer: {ingress: [{hostname: z.com}, {ip: 1.1.1.1}]}}
`,
			want: `
Name: a
Class: nginx
Hosts: a.com,b.com,c.com + 2 more...
Address: 1.1.1.1,z.com
Ports: 80, 443
Age: 10m`,
		},
		"Ingress for all": {
			object: `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}}`,
			want: `
Name: a
Class: <none>
Hosts: *
Address:
Ports: 80
Age: <unknown>`,
		},
		"IngressClass": {
			object: `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {controller: a.com/b, parameters: {apiGroup: a.com, kind: Params, name: p}}
`,
			want: `
Name: a
Controller: a.com/b
Parameters: Params.a.com/p
Age: 10m`,
		},
		"IngressClass with core parameters": {
			object: `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: a}, spec: {controller: a.com/b, parameters: {kind: ConfigMap, name: p}}}`,
			want: `
Name: a
Controller: a.com/b
Parameters: ConfigMap/p
Age: <unknown>`,
		},
		"IngressClass without parameters": {
			object: `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: a}}`,
			want: `
Name: a
Controller:
Parameters: <none>
Age: <unknown>`,
		},
		"NetworkPolicy": {
			object: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {podSelector: {matchLabels: {app: web}}}
`,
			want: `
Name: a
Pod-Selector: app=web
Age: 10m`,
		},
		"NetworkPolicy for all": {
			object: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}}`,
			want: `
Name: a
Pod-Selector: <none>
Age: <unknown>`,
		},
	}.run(t)
}

func TestRBAC(t *testing.T) {
	shown{
		"Role": {
			object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, creationTimestamp: "2026-01-02T01:00:00+01:00"}, rules: []}`,
			want: `
Name: a
Created At: 2026-01-02T00:00:00Z`,
		},
		"ClusterRole": {
			object: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}, rules: []}`,
			want: `
Name: a
Created At: 2026-01-02T00:00:00Z`,
		},
		"RoleBinding": {
			object: `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects:
- {kind: User, name: u1}
- {kind: User, name: u2}
- {kind: Group, name: g}
- {kind: ServiceAccount, name: s, namespace: ns}
`,
			want: `
Name: a
Role: Role/r
Age: 10m
Users*: u1, u2
Groups*: g
ServiceAccounts*: ns/s`,
		},
		"ClusterRoleBinding": {
			object: `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects: [{kind: User, name: u}, {kind: Group, name: g}, {kind: ServiceAccount, name: s, namespace: ns}]
`,
			want: `
Name: a
Role: ClusterRole/r
Age: 10m
Users*: u
Groups*: g
ServiceAccounts*: ns/s`,
		},
	}.run(t)
}

func TestAdmission(t *testing.T) {
	shown{
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
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: a, clientConfig: {}, sideEffects: None, admissionReviewVersions: [v1]}]}`,
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
		"ValidatingAdmissionPolicyBinding to selected parameters": {
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
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: a}, spec: {policyName: p, paramRef: {name: r}}}`,
			want: `
Name: a
PolicyName: p
ParamRef: */r
Age: <unknown>`,
		},
		"MutatingAdmissionPolicyBinding without parameters": {
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: a}, spec: {policyName: p}}`,
			want: `
Name: a
PolicyName: p
ParamRef: <unset>
Age: <unknown>`,
		},
		"MutatingAdmissionPolicyBinding to nothing": {
			object: `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: a}, spec: {policyName: p, paramRef: {}}}`,
			want: `
Name: a
PolicyName: p
ParamRef: <unset>
Age: <unknown>`,
		},
	}.run(t)
}

func TestCluster(t *testing.T) {
	shown{
		"Lease": {
			object: `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}, spec: {holderIdentity: me}}`,
			want: `
Name: a
Holder: me
Age: 10m`,
		},
		"Lease of nobody": {
			object: `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}}`,
			want: `
Name: a
Holder:
Age: <unknown>`,
		},
		"StorageClass by default": {
			object: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z", annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: a.com/b
`,
			want: `
Name: a (default)
Provisioner: a.com/b
ReclaimPolicy: Delete
VolumeBindingMode: Immediate
AllowVolumeExpansion: false
Age: 10m`,
		},
		"StorageClass by default of old": {
			object: `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: a, annotations: {storageclass.beta.kubernetes.io/is-default-class: "true"}}
provisioner: a.com/b
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
`,
			want: `
Name: a (default)
Provisioner: a.com/b
ReclaimPolicy: Retain
VolumeBindingMode: WaitForFirstConsumer
AllowVolumeExpansion: true
Age: <unknown>`,
		},
		"StorageClass": {
			object: `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a, annotations: {storageclass.kubernetes.io/is-default-class: "false"}}, provisioner: p}`,
			want: `
Name: a
Provisioner: p
ReclaimPolicy: Delete
VolumeBindingMode: Immediate
AllowVolumeExpansion: false
Age: <unknown>`,
		},
		"PriorityClass": {
			object: `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}, value: -5, globalDefault: true, preemptionPolicy: Never}`,
			want: `
Name: a
Value: -5
Global-Default: true
Age: 10m
PreemptionPolicy: Never`,
		},
		"CertificateSigningRequest": {
			object: `
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {request: eA==, signerName: a.com/b, username: me, expirationSeconds: 3600}
status: {conditions: [{type: Approved, status: "True"}], certificate: eA==}
`,
			want: `
Name: a
Age: 10m
SignerName: a.com/b
Requestor: me
RequestedDuration: 60m
Condition: Approved,Issued`,
		},
		"CertificateSigningRequest denied": {
			object: `
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: a}
spec: {request: eA==, signerName: ""}
status: {conditions: [{type: Approved, status: "True"}, {type: Denied, status: "True"}, {type: Failed, status: "True"}]}
`,
			want: `
Name: a
Age: <unknown>
SignerName: <none>
Requestor:
RequestedDuration: <none>
Condition: Denied,Failed`,
		},
		"CertificateSigningRequest new": {
			object: `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: a}, spec: {request: eA==, signerName: s}}`,
			want: `
Name: a
Age: <unknown>
SignerName: s
Requestor:
RequestedDuration: <none>
Condition: Pending`,
		},
	}.run(t)
}
