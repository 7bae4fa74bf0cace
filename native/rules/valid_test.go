package rules_test

// valid has a realistic manifest for each kind, and some further ones under other names. All are valid. The other tests
// change them.
var valid = map[string]string{
	"Namespace": `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: checkout}}, spec: {finalizers: [kubernetes]}}`,

	"ConfigMap": `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, annotations: {example.com/owner: checkout}}
data: {app.yaml: "debug: true", LOG_LEVEL: info}
binaryData: {logo.png: aGVsbG8=}`,

	"Secret": `
apiVersion: v1
kind: Secret
metadata: {name: cert, namespace: shop}
type: kubernetes.io/tls
data: {tls.crt: aGVsbG8=, tls.key: aGVsbG8=}`,

	"APIService": `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  service: {namespace: kube-system, name: metrics-server, port: 443}
  caBundle: aGVsbG8=
  groupPriorityMinimum: 100
  versionPriority: 100`,

	"ServiceAccount": `{apiVersion: v1, kind: ServiceAccount, metadata: {name: shop, namespace: shop}, imagePullSecrets: [{name: registry}]}`,

	"Pod": `
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
spec:
  serviceAccountName: shop
  hostname: web-0
  subdomain: web
  terminationGracePeriodSeconds: 30
  nodeSelector: {kubernetes.io/os: linux}
  priorityClassName: high
  imagePullSecrets: [{name: registry}]
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {operator: Exists}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a, b]}]
          matchFields: [{key: metadata.name, operator: In, values: [node-1]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 10, preference: {matchExpressions: [{key: disk, operator: Exists}]}}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm: {topologyKey: kubernetes.io/hostname, namespaces: [shop], labelSelector: {matchLabels: {app: web}}}
  topologySpreadConstraints:
  - maxSkew: 1
    minDomains: 2
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
  hostAliases: [{ip: 10.0.0.1, hostnames: [db.example.com]}]
  dnsConfig: {nameservers: [1.1.1.1], searches: [example.com], options: [{name: ndots, value: "2"}]}
  securityContext:
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 2000
    supplementalGroups: [3000]
    seccompProfile: {type: RuntimeDefault}
    sysctls: [{name: net.core.somaxconn, value: "1024"}]
  readinessGates: [{conditionType: example.com/ready}]
  initContainers:
  - {name: migrate, image: "registry.example.com/migrate:1", command: [migrate]}
  - {name: proxy, image: proxy, restartPolicy: Always, startupProbe: {tcpSocket: {port: 15001}}}
  containers:
  - name: web
    image: registry.example.com/web:1.2.3
    ports:
    - {name: http, containerPort: 8080}
    - {name: dns, containerPort: 53, hostPort: 5353, protocol: UDP}
    env:
    - {name: LOG_LEVEL, value: info}
    - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: TEAM, valueFrom: {fieldRef: {fieldPath: "metadata.labels['team']"}}}
    - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: token}}}
    - {name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode, optional: true}}}
    envFrom:
    - {prefix: APP_, configMapRef: {name: settings}}
    - {secretRef: {name: token}}
    resources: {requests: {cpu: 100m, memory: 64Mi, example.com/gpu: 1}, limits: {cpu: "1", memory: 128Mi, example.com/gpu: 1}}
    volumeMounts:
    - {name: config, mountPath: /etc/config, readOnly: true}
    - {name: data, mountPath: /data, subPath: web/files}
    volumeDevices: [{name: raw, devicePath: /dev/xvda}]
    livenessProbe: {httpGet: {path: /healthz, port: http, httpHeaders: [{name: X-Probe, value: "1"}]}, periodSeconds: 5}
    readinessProbe: {exec: {command: [ready]}, successThreshold: 2}
    startupProbe: {grpc: {port: 9000}}
    lifecycle: {preStop: {exec: {command: [sleep, "5"]}}, postStart: {httpGet: {port: 8080}}}
    securityContext:
      allowPrivilegeEscalation: false
      runAsNonRoot: true
      capabilities: {drop: [ALL]}
      seccompProfile: {type: Localhost, localhostProfile: profiles/web.json}
  volumes:
  - {name: config, configMap: {name: settings, defaultMode: 292, items: [{key: app.yaml, path: conf/app.yaml, mode: 256}]}}
  - {name: data, emptyDir: {sizeLimit: 1Gi}}
  - {name: raw, persistentVolumeClaim: {claimName: raw}}
  - {name: host, hostPath: {path: /var/log, type: Directory}}
  - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}
  - {name: cert, secret: {secretName: cert}}
  - {name: share, nfs: {server: nfs.example.com, path: /exports}}
  - {name: inline, csi: {driver: csi.example.com}}
  - name: all
    projected:
      sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
      - secret: {name: cert, items: [{key: tls.crt, path: cert}]}
      - configMap: {name: settings}
      - downwardAPI:
          items:
          - {path: labels, fieldRef: {fieldPath: metadata.labels}}
          - {path: cpu, resourceFieldRef: {containerName: web, resource: limits.cpu}}`,

	"PodTemplate": `
apiVersion: v1
kind: PodTemplate
metadata: {name: web, namespace: shop}
template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}`,

	"ReplicationController": `
apiVersion: v1
kind: ReplicationController
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {app: web}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}`,

	"Deployment": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 3
  minReadySeconds: 10
  selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: NotIn, values: [db]}]}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: web, tier: front}, annotations: {example.com/hash: abc}}
    spec: {containers: [{name: web, image: "web:1", ports: [{containerPort: 8080}]}]}`,

	"ReplicaSet": `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-abc, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}`,

	"StatefulSet": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Retain}
  ordinals: {start: 1}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
      - name: db
        image: db
        volumeMounts: [{name: data, mountPath: /data}]
        volumeDevices: [{name: raw, devicePath: /dev/raw}]
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  - {metadata: {name: raw}}`,

	"DaemonSet": `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: logs, namespace: shop}
spec:
  selector: {matchLabels: {app: logs}}
  template:
    metadata: {labels: {app: logs}}
    spec:
      hostNetwork: true
      containers: [{name: logs, image: logs, ports: [{containerPort: 9100}]}]
      tolerations: [{operator: Exists, effect: NoSchedule}]`,

	"ControllerRevision": `
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: db-1, namespace: shop}
revision: 1
data: {spec: {}}`,

	"Job": `
apiVersion: batch/v1
kind: Job
metadata: {name: import, namespace: shop}
spec:
  completions: 5
  parallelism: 2
  completionMode: Indexed
  backoffLimitPerIndex: 1
  maxFailedIndexes: 2
  ttlSecondsAfterFinished: 60
  podFailurePolicy:
    rules:
    - {action: FailIndex, onExitCodes: {operator: In, values: [1, 2]}}
    - {action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}
  template: {spec: {restartPolicy: Never, containers: [{name: import, image: import}]}}`,

	"CronJob": `
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: shop}
spec:
  schedule: "*/15 6-18 * JAN,mar-DEC MON-fri"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 60
  jobTemplate: {spec: {template: {spec: {restartPolicy: OnFailure, containers: [{name: report, image: report}]}}}}`,

	"Service": `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: NodePort
  selector: {app: web}
  clusterIP: 10.96.0.10
  clusterIPs: [10.96.0.10]
  ports:
  - {name: http, port: 80, targetPort: http, nodePort: 30080, appProtocol: kubernetes.io/h2c}
  - {name: dns, port: 53, protocol: UDP}
  sessionAffinity: ClientIP
  externalIPs: [192.0.2.1]`,

	"Service cluster ip": `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}], externalIPs: [192.0.2.1]}`,
	"Service headless": `
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: None, selector: {app: db}}`,
	"Service external name": `
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {type: ExternalName, externalName: db.example.com.}`,
	"Service load balancer": `
apiVersion: v1
kind: Service
metadata: {name: edge, namespace: shop}
spec:
  type: LoadBalancer
  loadBalancerClass: example.com/lb
  loadBalancerSourceRanges: [10.0.0.0/8]
  externalTrafficPolicy: Local
  healthCheckNodePort: 31000
  ports: [{port: 443, targetPort: 8443}]`,

	"Endpoints": `
apiVersion: v1
kind: Endpoints
metadata: {name: web, namespace: shop}
subsets:
- addresses: [{ip: 10.1.2.3, hostname: web-0, nodeName: node-1, targetRef: {kind: Pod, name: web-0}}]
  ports: [{name: http, port: 8080}, {name: dns, port: 53, protocol: UDP}]`,

	"EndpointSlice": `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}, hostname: web-0, nodeName: node-1, zone: a}]
ports: [{name: http, port: 8080, protocol: TCP}, {name: "", port: 53, protocol: UDP}]`,

	"PersistentVolumeClaim": `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: shop}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  volumeMode: Block
  resources: {requests: {storage: 8Gi}, limits: {storage: 10Gi}}
  dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: yesterday}`,

	"PersistentVolume": `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec:
  capacity: {storage: 8Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: fast
  local: {path: /mnt/disk1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}`,

	"StorageClass": `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: csi.example.com
parameters: {type: ssd}
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a]}]}]`,

	"Node": `
apiVersion: v1
kind: Node
metadata: {name: node-1.example.com, labels: {kubernetes.io/hostname: node-1}}
spec:
  podCIDR: 10.1.0.0/24
  podCIDRs: [10.1.0.0/24, "2001:db8::/64"]
  taints: [{key: dedicated, value: db, effect: NoSchedule}, {key: dedicated, effect: NoExecute}]`,

	"Event": `
apiVersion: v1
kind: Event
metadata: {name: Web-0.17a, namespace: shop}
involvedObject: {kind: Pod, name: web-0, namespace: shop}
reason: Started
message: Started container
type: Normal`,

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

	"LimitRange": `
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: shop}
spec:
  limits:
  - type: Container
    min: {cpu: 10m}
    defaultRequest: {cpu: 100m}
    default: {cpu: 200m}
    max: {cpu: "2"}
    maxLimitRequestRatio: {cpu: "10"}
  - {type: Pod, max: {memory: 4Gi}}
  - {type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 10Gi}}`,

	"ResourceQuota": `
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: shop}
spec:
  hard:
    requests.cpu: "4"
    limits.memory: 8Gi
    pods: "10"
    count/deployments.apps: "5"
    fast.storageclass.storage.k8s.io/requests.storage: 100Gi
  scopes: [NotTerminating, NotBestEffort]
  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}`,

	"HorizontalPodAutoscaler": `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}
  - {type: ContainerResource, containerResource: {name: memory, container: web, target: {type: AverageValue, averageValue: 100Mi}}}
  - {type: Pods, pods: {metric: {name: requests}, target: {type: AverageValue, averageValue: "10"}}}
  - {type: Object, object: {describedObject: {kind: Service, name: web}, metric: {name: hits}, target: {type: Value, value: "100"}}}
  - {type: External, external: {metric: {name: queue, selector: {matchLabels: {q: a}}}, target: {type: AverageValue, averageValue: "30"}}}
  behavior: {scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Percent, value: 50, periodSeconds: 60}], selectPolicy: Min}}`,

	"HorizontalPodAutoscaler with a window": `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {scaleTargetRef: {kind: Deployment, name: web}, maxReplicas: 3, behavior: {scaleUp: {stabilizationWindowSeconds: 0}}}`,

	"Scale": `{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: web, namespace: shop}, spec: {replicas: 3}}`,

	"PodDisruptionBudget": `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}, unhealthyPodEvictionPolicy: AlwaysAllow}`,

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

	"Role": `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "shop:reader", namespace: shop}
rules: [{apiGroups: [""], resources: [pods, pods/log], verbs: [get, list]}]`,

	"ClusterRole": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:reader"}
rules: [{nonResourceURLs: [/healthz], verbs: [get]}, {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
aggregationRule: {clusterRoleSelectors: [{matchLabels: {aggregate: "true"}}]}`,

	"RoleBinding": `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "shop:reader", namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "shop:reader"}
subjects: [{kind: ServiceAccount, name: shop, namespace: shop}, {kind: User, name: jane}, {kind: Group, name: "system:authenticated"}]`,

	"ClusterRoleBinding": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "shop:admin"}
roleRef: {kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: shop, namespace: shop}]`,

	"Lease": `
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: controller, namespace: kube-system}
spec: {holderIdentity: a_1, leaseDurationSeconds: 15, leaseTransitions: 0, renewTime: "2026-01-02T03:04:05.000000Z"}`,

	"PriorityClass": `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000000000
preemptionPolicy: Never`,
	"PriorityClass of the system": `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: system-node-critical}
value: 2000001000`,

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

	"DeviceClass": `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]
  config: [{opaque: {driver: gpu.example.com, parameters: {mode: shared}}}]
  extendedResourceName: example.com/gpu`,

	"ResourceClaim": `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu, namespace: shop}
spec:
  devices:
    requests:
    - {name: big, exactly: {deviceClassName: gpu, count: 2, selectors: [{cel: {expression: "true"}}]}}
    - {name: any, firstAvailable: [{name: small, deviceClassName: gpu}, {name: large, deviceClassName: gpu, allocationMode: All}]}
    constraints: [{requests: [big, any/small], matchAttribute: example.com/numa}]
    config: [{requests: [big], opaque: {driver: gpu.example.com, parameters: {mode: shared}}}]`,

	"ResourceClaimTemplate": `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: shop}
spec: {metadata: {labels: {app: web}}, spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu}}]}}}`,

	"ResourceSlice": `
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices: [{name: gpu-0, attributes: {model: {string: a100}}, capacity: {memory: {value: 40Gi}}}]`,

	"DeviceTaintRule": `
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: broken}
spec: {deviceSelector: {driver: gpu.example.com, device: gpu-0}, taint: {key: example.com/broken, value: "yes", effect: NoExecute}}`,

	"VolumeAttributesClass": `
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: gold}
driverName: csi.example.com
parameters: {iops: "4000"}`,

	"RuntimeClass": `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
overhead: {podFixed: {cpu: 250m, memory: 120Mi}}
scheduling:
  nodeSelector: {runtime: gvisor}
  tolerations: [{key: runtime, operator: Equal, value: gvisor, effect: NoSchedule}]`,

	"FlowSchema": `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: tenants}
spec:
  priorityLevelConfiguration: {name: tenants}
  matchingPrecedence: 500
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects:
    - {kind: User, user: {name: anna}}
    - {kind: Group, group: {name: tenants}}
    - {kind: ServiceAccount, serviceAccount: {namespace: shop, name: "*"}}
    resourceRules: [{verbs: ["*"], apiGroups: [""], resources: [configmaps], namespaces: [shop]}]
    nonResourceRules: [{verbs: [get], nonResourceURLs: [/healthz, /apis/*]}]`,

	"PriorityLevelConfiguration": `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: tenants}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 5, limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}}`,

	"ValidatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: pods.checks.example.com
  clientConfig: {service: {name: checks, namespace: shop, path: /validate}}
  rules: [{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [pods, pods/status], scope: Namespaced}]
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 5
  matchConditions:
  - name: not-system
    expression: request.namespace != 'kube-system' && authorizer.group('').resource('pods').check('get').allowed()`,

	"MutatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: sidecars}
webhooks:
- name: pods.sidecars.example.com
  clientConfig: {url: "https://sidecars.example.com/mutate"}
  rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"]}]
  sideEffects: NoneOnDryRun
  admissionReviewVersions: [v2, v1]
  reinvocationPolicy: IfNeeded`,

	"ValidatingAdmissionPolicy": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments]}]}
  variables: [{name: replicas, expression: "object.spec.replicas"}, {name: twice, expression: "variables.replicas * 2"}]
  matchConditions: [{name: named, expression: "object.metadata.name != ''"}]
  validations:
  - expression: variables.twice <= 10 && params.data.max != ''
    messageExpression: "'too many: ' + string(variables.replicas)"
    reason: Invalid
  auditAnnotations: [{key: replicas, valueExpression: "'replicas ' + string(object.spec.replicas)"}]`,

	"ValidatingAdmissionPolicyBinding": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec:
  policyName: replicas
  validationActions: [Deny, Audit]
  paramRef: {name: limits, namespace: shop, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {team: checkout}}}`,

	"MutatingAdmissionPolicy": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]}
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}}
  - {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/labels/x', value: 'y'}]"}}`,

	"MutatingAdmissionPolicyBinding": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label}
spec: {policyName: label}`,

	"CertificateSigningRequest": `
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: jane}
spec:
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
  expirationSeconds: 3600
  request: "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIS01IRUNBUUF3RHpFTk1Bc0dBMVVFQXhNRWFtRnVaVEJaTUJNR0J5cUdTTT\
    Q5QWdFR0NDcUdTTTQ5QXdFSApBMElBQlBtUENERzJkekhmZmZIVjMvL0NQN3I2dXdiWURUa1hGL1RqQXczWHpXbUJBTGNWYVdwckdVbk8wZVRB\
    ClVaMURiRUYrR1gyS3BhVUFFcktCZkUxM1ZLS2dBREFLQmdncWhrak9QUVFEQWdOSkFEQkdBaUVBbWxUMWY1ZUIKMjQzeWFxZmErL1lHWnl1NH\
    RVendLSGsvMEdoRU8ybEFyUFlDSVFDYVQwaVFMMDQ0YVZDcmFQZFd5UEZBWUZNWgo1UzRSSVVmR2VTalBBQzJoTFE9PQotLS0tLUVORCBDRVJU\
    SUZJQ0FURSBSRVFVRVNULS0tLS0K"`,

	"ClusterTrustBundle": `
apiVersion: certificates.k8s.io/v1
kind: ClusterTrustBundle
metadata: {name: "example.com:issuer:v1"}
spec:
  signerName: example.com/issuer
  trustBundle: |
    -----BEGIN CERTIFICATE-----
    MIIBcTCCARegAwIBAgIUK17N6VTr6mDm6Ut5YTYGg3bSwpkwCgYIKoZIzj0EAwIw
    DTELMAkGA1UEAwwCY2EwIBcNMjYxMTE2MTIxNzEyWhgPMjEyNjEwMjMxMjE3MTJa
    MA0xCzAJBgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEj0jbUV9P
    nDS7u+GWbqSCK22pkhb6SXcVA7Scd7MaLVaAQY8L72LfcTby2HnJx+opyRGhjETw
    JI5rGd1yXPE0iaNTMFEwHQYDVR0OBBYEFIcttrMjyOYUDc/55faDQjKDDBXnMB8G
    A1UdIwQYMBaAFIcttrMjyOYUDc/55faDQjKDDBXnMA8GA1UdEwEB/wQFMAMBAf8w
    CgYIKoZIzj0EAwIDSAAwRQIgKzg8h+wHw5ExLLaiYDx+1yEEzq58B4XtGukmdvMH
    1ekCIQC+SRUZg5ZCBxKOYh2RCEjIh49iUwtjhwTbZIfJNjsWeg==
    -----END CERTIFICATE-----`,
}
