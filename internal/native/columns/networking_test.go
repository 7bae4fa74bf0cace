package columns_test

import "testing"

func TestNetworking(t *testing.T) {
	rows{
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
		"Ingress without hosts": {
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
			object: `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: a}, ` +
				`spec: {controller: a.com/b, parameters: {kind: ConfigMap, name: p}}}`,
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
		"NetworkPolicy for all pods": {
			object: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}}`,
			want: `
Name: a
Pod-Selector: <none>
Age: <unknown>`,
		},
	}.run(t)
}
