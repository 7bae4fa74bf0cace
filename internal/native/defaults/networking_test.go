package defaults_test

import "testing"

func TestNetworking(t *testing.T) {
	manifests{
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
		"NetworkPolicy for both directions": {
			in: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {egress: [{ports: [{port: 80}]}]}}`,
			want: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
spec:
  egress: [{ports: [{port: 80, protocol: TCP}]}]
  policyTypes: [Ingress, Egress]
`,
		},
		"NetworkPolicy with policyTypes": {
			in:   `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Egress]}}`,
			want: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Egress]}}`,
		},
		"IngressClass": {
			in: `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: a.com/b, parameters: {kind: A, name: a}}}`,
			want: `{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: a.com/b, ` +
				`parameters: {kind: A, name: a, scope: Cluster}}}`,
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
