package rules_test

// validWorkloads are the manifests of workloads, autoscaling, policy and scheduling, see valid.
var validWorkloads = map[string]string{
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
  - {metadata: {name: raw}, spec: {volumeMode: Block, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,

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
metadata: {name: import, namespace: shop, uid: u-1}
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
  # The server generates the selector and the labels.
  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u-1}}
  template:
    metadata:
      labels:
        {controller-uid: u-1, job-name: import, batch.kubernetes.io/controller-uid: u-1, batch.kubernetes.io/job-name: import}
    spec: {restartPolicy: Never, containers: [{name: import, image: import}]}`,

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
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3, behavior: {scaleUp: {stabilizationWindowSeconds: 0}}}`,

	"Scale": `{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: web, namespace: shop}, spec: {replicas: 3}}`,

	"PodDisruptionBudget": `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}, unhealthyPodEvictionPolicy: AlwaysAllow}`,

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

	"RuntimeClass": `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
overhead: {podFixed: {cpu: 250m, memory: 120Mi}}
scheduling:
  nodeSelector: {runtime: gvisor}
  tolerations: [{key: runtime, operator: Equal, value: gvisor, effect: NoSchedule}]`,
}
