package rules_test

// validStorageAndNetworks are the manifests of storage, networks and events, see valid.
var validStorageAndNetworks = map[string]string{
	"EndpointSlice": `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}, hostname: web-0, nodeName: node-1, zone: a}]
ports: [{name: http, port: 8080, protocol: TCP}, {name: "", port: 53, protocol: UDP}]`,

	"Ingress": `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  ingressClassName: nginx
  tls: [{hosts: [shop.example.com, "*.example.com"], secretName: cert}]
  defaultBackend: {resource: {apiGroup: example.com, kind: Bucket, name: static}}
  rules:
  - host: shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}
      - {path: "/api", pathType: Exact, backend: {service: {name: api, port: {number: 80}}}}
      - {pathType: ImplementationSpecific, backend: {service: {name: api, port: {number: 80}}}}`,

	"IngressClass": `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx, parameters: {apiGroup: example.com, kind: Params, name: p, scope: Namespace, namespace: shop}}`,

	"IPAddress": `
apiVersion: networking.k8s.io/v1
kind: IPAddress
metadata: {name: 10.96.0.10}
spec: {parentRef: {resource: services, namespace: shop, name: web}}`,

	"ServiceCIDR": `
apiVersion: networking.k8s.io/v1
kind: ServiceCIDR
metadata: {name: kubernetes}
spec: {cidrs: [10.96.0.0/16, "2001:db8::/112"]}`,

	"NetworkPolicy": `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec:
  podSelector: {matchLabels: {app: web}}
  policyTypes: [Ingress, Egress]
  ingress:
  - from: [{podSelector: {}}, {namespaceSelector: {matchLabels: {team: a}}}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
    ports: [{port: http}, {port: 8000, endPort: 9000, protocol: UDP}, {protocol: SCTP}]
  egress: [{}]`,

	"StorageClass": `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: csi.example.com
parameters: {type: ssd}
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a]}]}]`,

	"CSIDriver": `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: csi.example.com}
spec:
  attachRequired: true
  podInfoOnMount: true
  fsGroupPolicy: File
  volumeLifecycleModes: [Persistent, Ephemeral]
  tokenRequests: [{audience: vault, expirationSeconds: 3600}]
  serviceAccountTokenInSecrets: true
  nodeAllocatableUpdatePeriodSeconds: 60`,

	"CSINode": `
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: node-1}
spec: {drivers: [{name: csi.example.com, nodeID: i-1, topologyKeys: [topology.kubernetes.io/zone], allocatable: {count: 25}}]}`,

	"CSIStorageCapacity": `
apiVersion: storage.k8s.io/v1
kind: CSIStorageCapacity
metadata: {name: csi-1, namespace: shop}
storageClassName: fast
nodeTopology: {matchLabels: {topology.kubernetes.io/zone: a}}
capacity: 10Gi`,

	"VolumeAttachment": `
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: csi-1}
spec: {attacher: csi.example.com, nodeName: node-1, source: {persistentVolumeName: data-0}}`,
	"VolumeAttachment of an inline volume": `
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: csi-2}
spec:
  attacher: csi.example.com
  nodeName: node-1
  source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: csi.example.com, volumeHandle: v-1}}}`,

	"VolumeAttributesClass": `
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: gold}
driverName: csi.example.com
parameters: {iops: "4000"}`,

	"Event of events.k8s.io": `
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: web-0.17a, namespace: shop}
regarding: {kind: Pod, name: web-0, namespace: shop}
eventTime: "2026-01-02T03:04:05.000000Z"
reportingController: example.com/kubelet
reportingInstance: node-1
action: Starting
reason: Started
note: Started container
type: Normal`,

	"Lease": `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: controller, namespace: kube-system}
spec: {holderIdentity: a_1, leaseDurationSeconds: 15, leaseTransitions: 0, renewTime: "2026-01-02T03:04:05.000000Z"}`,
}
