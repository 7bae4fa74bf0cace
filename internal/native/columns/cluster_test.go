package columns_test

import "testing"

func TestCluster(t *testing.T) {
	rows{
		"Lease": {
			object: `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a, ` +
				`creationTimestamp: "2026-01-02T00:00:00Z"}, spec: {holderIdentity: me}}`,
			want: `
Name: a
Holder: me
Age: 10m`,
		},
		"Lease without holder": {
			object: `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a}}`,
			want: `
Name: a
Holder:
Age: <unknown>`,
		},
		"default StorageClass": {
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
		"default StorageClass with the old annotation": {
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
			object: `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a, ` +
				`annotations: {storageclass.kubernetes.io/is-default-class: "false"}}, provisioner: p}`,
			want: `
Name: a
Provisioner: p
ReclaimPolicy: Delete
VolumeBindingMode: Immediate
AllowVolumeExpansion: false
Age: <unknown>`,
		},
		"ClusterTrustBundle": {
			object: `{apiVersion: certificates.k8s.io/v1, kind: ClusterTrustBundle, metadata: {name: "a.com:b:c"}, spec: {signerName: a.com/b}}`,
			want: `
Name: a.com:b:c
SignerName: a.com/b`,
		},
		"ClusterTrustBundle without signer": {
			object: `{apiVersion: certificates.k8s.io/v1, kind: ClusterTrustBundle, metadata: {name: a}}`,
			want: `
Name: a
SignerName: <none>`,
		},
		"RuntimeClass": {
			object: `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: a, ` +
				`creationTimestamp: "2026-01-02T00:00:00Z"}, handler: runsc}`,
			want: `
Name: a
Handler: runsc
Age: 10m`,
		},
		"PriorityClass": {
			object: `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: a, ` +
				`creationTimestamp: "2026-01-02T00:00:00Z"}, value: -5, globalDefault: true, preemptionPolicy: Never}`,
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
		"CertificateSigningRequest without conditions": {
			object: `{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: a}, ` +
				`spec: {request: eA==, signerName: s}}`,
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
