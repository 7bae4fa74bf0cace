package rules_test

// validCore are the manifests of the core group, see valid.
var validCore = map[string]string{
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
spec: {clusterIP: None, clusterIPs: [None], selector: {app: db}}`,
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
}
