package columns_test

import "testing"

func TestService(t *testing.T) {
	rows{
		"ClusterIP": {
			object: `
apiVersion: v1
kind: Service
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
spec:
  type: ClusterIP
  clusterIP: 10.0.0.1
  clusterIPs: [10.0.0.1]
  selector: {app: web}
  ports: [{port: 80, protocol: TCP}, {port: 53, protocol: UDP}]
`,
			want: `
Name: a
Type: ClusterIP
Cluster-IP: 10.0.0.1
External-IP: <none>
Port(s): 80/TCP,53/UDP
Age: 10m
Selector*: app=web`,
		},
		"headless with external IPs": {
			object: `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: ClusterIP, clusterIPs: [None], externalIPs: [1.1.1.1, 2.2.2.2]}
`,
			want: `
Name: a
Type: ClusterIP
Cluster-IP: None
External-IP: 1.1.1.1,2.2.2.2
Port(s): <none>
Age: <unknown>
Selector*: <none>`,
		},
		"NodePort": {
			object: `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: NodePort, ports: [{port: 80, nodePort: 30000, protocol: TCP}]}
`,
			want: `
Name: a
Type: NodePort
Cluster-IP: <none>
External-IP: <none>
Port(s): 80:30000/TCP
Age: <unknown>
Selector*: <none>`,
		},
		"LoadBalancer without address": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}`,
			want: `
Name: a
Type: LoadBalancer
Cluster-IP: <none>
External-IP: <pending>
Port(s): <none>
Age: <unknown>
Selector*: <none>`,
		},
		"LoadBalancer": {
			object: `
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {type: LoadBalancer, externalIPs: [1.1.1.1]}
status: {loadBalancer: {ingress: [{ip: 9.9.9.9}, {hostname: a.very.long.name.example.com}, {ip: 9.9.9.9}, {}]}}
`,
			want: `
Name: a
Type: LoadBalancer
Cluster-IP: <none>
External-IP: 9.9.9.9,a.very.long.name.example.com,1.1.1.1
Port(s): <none>
Age: <unknown>
Selector*: <none>`,
		},
		"ExternalName": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ExternalName, externalName: x.example.com}}`,
			want: `
Name: a
Type: ExternalName
Cluster-IP: <none>
External-IP: x.example.com
Port(s): <none>
Age: <unknown>
Selector*: <none>`,
		},
		"unknown type": {
			object: `{apiVersion: v1, kind: Service, metadata: {name: a}}`,
			want: `
Name: a
Type:
Cluster-IP: <none>
External-IP: <unknown>
Port(s): <none>
Age: <unknown>
Selector*: <none>`,
		},
	}.run(t)
}

func TestEndpoints(t *testing.T) {
	rows{
		"none": {
			object: `{apiVersion: v1, kind: Endpoints, metadata: {name: a}}`,
			want: `
Name: a
Endpoints: <none>
Age: <unknown>`,
		},
		"few": {
			object: `
apiVersion: v1
kind: Endpoints
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
subsets:
- {addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}
- {addresses: [{ip: "fd00::1"}], ports: [{port: 80}]}
- {addresses: [{ip: 10.0.0.2}]}
`,
			want: `
Name: a
Endpoints: 10.0.0.1:80,[fd00::1]:80,10.0.0.2
Age: 10m`,
		},
		"many": {
			object: `
apiVersion: v1
kind: Endpoints
metadata: {name: a}
subsets:
- {addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}], ports: [{port: 80}, {port: 81}]}
- {addresses: [{ip: 10.0.0.3}]}
`,
			want: `
Name: a
Endpoints: 10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 2 more...
Age: <unknown>`,
		},
		"EndpointSlice": {
			object: `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: a, creationTimestamp: "2026-01-02T00:00:00Z"}
addressType: IPv4
ports: [{port: 80}, {name: http}, {}, {port: 1}]
endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]
`,
			want: `
Name: a
AddressType: IPv4
Ports: 80,http,* + 1 more...
Endpoints: 10.0.0.1,10.0.0.2
Age: 10m`,
		},
		"EndpointSlice without endpoints": {
			object: `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: FQDN, endpoints: null}`,
			want: `
Name: a
AddressType: FQDN
Ports: <unset>
Endpoints: <unset>
Age: <unknown>`,
		},
	}.run(t)
}
