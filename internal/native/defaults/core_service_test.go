package defaults_test

import "testing"

func TestService(t *testing.T) {
	manifests{
		"ClusterIP": {
			in: `
apiVersion: v1
kind: Service
spec:
  selector: {app: web}
  ports: [{port: 80}, {port: 53, protocol: UDP, targetPort: dns}, {port: 1, targetPort: ""}]
`,
			want: `
apiVersion: v1
kind: Service
spec:
  type: ClusterIP
  selector: {app: web}
  ports:
  - {port: 80, protocol: TCP, targetPort: 80}
  - {port: 53, protocol: UDP, targetPort: dns}
  - {port: 1, protocol: TCP, targetPort: 1}
  sessionAffinity: None
  internalTrafficPolicy: Cluster
`,
		},
		"with external IPs": {
			in: `{apiVersion: v1, kind: Service, spec: {externalIPs: [1.2.3.4], internalTrafficPolicy: Local}}`,
			want: `
apiVersion: v1
kind: Service
spec:
  type: ClusterIP
  externalIPs: [1.2.3.4]
  sessionAffinity: None
  externalTrafficPolicy: Cluster
  internalTrafficPolicy: Local
`,
		},
		"NodePort": {
			in: `{apiVersion: v1, kind: Service, spec: {type: NodePort, clusterIP: 10.0.0.1}}`,
			want: `
apiVersion: v1
kind: Service
spec:
  type: NodePort
  clusterIP: 10.0.0.1
  sessionAffinity: None
  externalTrafficPolicy: Cluster
  internalTrafficPolicy: Cluster
`,
		},
		"LoadBalancer": {
			in: `
apiVersion: v1
kind: Service
spec: {type: LoadBalancer, externalTrafficPolicy: Local}
status: {loadBalancer: {ingress: [{ip: 1.2.3.4}, {hostname: a.example.com}]}}
`,
			want: `
apiVersion: v1
kind: Service
spec:
  type: LoadBalancer
  allocateLoadBalancerNodePorts: true
  sessionAffinity: None
  externalTrafficPolicy: Local
  internalTrafficPolicy: Cluster
status: {loadBalancer: {ingress: [{ip: 1.2.3.4, ipMode: VIP}, {hostname: a.example.com}]}}
`,
		},
		"ExternalName": {
			in:   `{apiVersion: v1, kind: Service, spec: {type: ExternalName, externalName: a.example.com}}`,
			want: `{apiVersion: v1, kind: Service, spec: {type: ExternalName, externalName: a.example.com, sessionAffinity: None}}`,
		},
		"with ClientIP affinity": {
			in: `{apiVersion: v1, kind: Service, spec: {type: ExternalName, sessionAffinity: ClientIP}}`,
			want: `
apiVersion: v1
kind: Service
spec:
  type: ExternalName
  sessionAffinity: ClientIP
  sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}
`,
		},
		"without affinity": {
			in: `
apiVersion: v1
kind: Service
spec: {type: ExternalName, sessionAffinityConfig: {clientIP: {timeoutSeconds: 1}}}
`,
			want: `{apiVersion: v1, kind: Service, spec: {type: ExternalName, sessionAffinity: None}}`,
		},
	}.run(t)
}
