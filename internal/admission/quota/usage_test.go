package quota_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestUsage checks that the usage is the same whether the objects are created before the
// quota, and then counted, or after it, and then charged.
func TestUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ quota, objects, want string }{
		"number of objects": {
			quota: `{hard: {configmaps: 9, count/configmaps: 9, secrets: 9, replicationcontrollers: 9, count/jobs.batch: 9,
				count/serviceaccounts: 9}}`,
			objects: `
				{kind: ConfigMap, metadata: {name: a}}
				{kind: ConfigMap, metadata: {name: b}}
				{kind: Secret, metadata: {name: a}}
				{kind: ReplicationController, metadata: {name: a}, spec: {replicas: 0, selector: {a: b},
					template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}
				{kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}`,
			want: "configmaps=3 count/configmaps=3 count/jobs.batch=1 count/serviceaccounts=1 replicationcontrollers=1 secrets=1",
		},
		"kind that does not exist": {
			quota: `{hard: {count/nothing.example.com: 1}}`,
			want:  "count/nothing.example.com=0",
		},
		"resource name without usage": {
			quota:   `{hard: {` + withoutUsage + `: 1, pods: 1}}`,
			objects: `{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: {}}]}}`,
			want:    "pods=1",
		},
		"pods, all resource names": {
			quota: `{hard: {pods: 9, count/pods: 9, cpu: 9, requests.cpu: 9, limits.cpu: 9, memory: 9Gi,
				requests.memory: 9Gi, limits.memory: 9Gi, ephemeral-storage: 9Gi, requests.ephemeral-storage: 9Gi,
				limits.ephemeral-storage: 9Gi, requests.example.com/gpu: 9, hugepages-2Mi: 9Gi, requests.hugepages-2Mi: 9Gi}}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 100m,
					memory: 1Mi, ephemeral-storage: 1Mi}, limits: {cpu: 1, memory: 2Mi, ephemeral-storage: 3Mi,
					example.com/gpu: 2, hugepages-2Mi: 4Mi}}}]}}
				{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 200m,
					memory: 1Mi}}}]}}`,
			want: "count/pods=2 cpu=300m ephemeral-storage=1Mi hugepages-2Mi=4Mi limits.cpu=1200m limits.ephemeral-storage=3Mi " +
				"limits.memory=3Mi memory=2Mi pods=2 requests.cpu=300m requests.ephemeral-storage=1Mi requests.example.com/gpu=2 " +
				"requests.hugepages-2Mi=4Mi requests.memory=2Mi",
		},
		"init containers and sidecars": {
			quota: `{hard: {requests.cpu: 9}}`,
			objects: `
				{kind: Pod, metadata: {name: init}, spec: {initContainers: [{name: i, image: i,
					resources: {requests: {cpu: 500m}}}], containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}
				{kind: Pod, metadata: {name: sidecar}, spec: {initContainers: [{name: s, image: i, restartPolicy: Always,
					resources: {requests: {cpu: 50m}}}], containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}`,
			want: "requests.cpu=650m",
		},
		"pod overhead": {
			quota: `{hard: {requests.cpu: 9, limits.cpu: 9}}`,
			objects: `{kind: Pod, metadata: {name: a}, spec: {runtimeClassName: vm, containers: [{name: c, image: i,
				resources: {requests: {cpu: 100m}, limits: {cpu: 200m}}}]}}`,
			want: "limits.cpu=210m requests.cpu=110m",
		},
		"pod-level resources": {
			quota: `{hard: {requests.cpu: 9, limits.cpu: 9}}`,
			objects: `{kind: Pod, metadata: {name: a}, spec: {resources: {requests: {cpu: 400m}, limits: {cpu: 500m}},
				containers: [{name: c, image: i}]}}`,
			want: "limits.cpu=500m requests.cpu=400m",
		},
		"scope Terminating": {
			quota: `{hard: {pods: 9}, scopes: [Terminating]}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {activeDeadlineSeconds: 60, containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: i}]}}`,
			want: "pods=1",
		},
		"scope NotTerminating": {
			quota: `{hard: {pods: 9, count/pods: 9}, scopes: [NotTerminating]}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {activeDeadlineSeconds: 60, containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: i}]}}`,
			want: "count/pods=2 pods=2",
		},
		"scope BestEffort": {
			quota: `{hard: {pods: 9}, scopes: [BestEffort]}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
				{kind: Pod, metadata: {name: c}, spec: {resources: {requests: {cpu: 1}}, containers: [{name: c, image: i}]}}`,
			want: "pods=1",
		},
		"scopes NotBestEffort and NotTerminating": {
			quota: `{hard: {pods: 9}, scopes: [NotBestEffort, NotTerminating]}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
				{kind: Pod, metadata: {name: d}, spec: {activeDeadlineSeconds: 60, containers: [{name: c, image: i,
					resources: {requests: {cpu: 1}}}]}}`,
			want: "pods=1",
		},
		"scope PriorityClass In": {
			quota: `{hard: {pods: 9}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In,
				values: [system-node-critical]}]}}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {priorityClassName: system-node-critical, containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: b}, spec: {priorityClassName: system-cluster-critical, containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: i}]}}`,
			want: "pods=1",
		},
		"scope PriorityClass NotIn": {
			quota: `{hard: {pods: 9}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn,
				values: [system-node-critical]}]}}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {priorityClassName: system-node-critical, containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: b}, spec: {priorityClassName: system-cluster-critical, containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: i}]}}`,
			want: "pods=2",
		},
		"scope PriorityClass DoesNotExist": {
			quota: `{hard: {pods: 9}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]}}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {priorityClassName: system-node-critical, containers: [{name: c, image: i}]}}
				{kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: i}]}}`,
			want: "pods=1",
		},
		"scope CrossNamespacePodAffinity": {
			quota: `{hard: {pods: 9}, scopes: [CrossNamespacePodAffinity]}`,
			objects: `
				{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}], affinity: {podAffinity: {
					requiredDuringSchedulingIgnoredDuringExecution: [
						{topologyKey: zone, namespaces: [other], labelSelector: {}}]}}}}
				{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i}], affinity: {podAntiAffinity: {
					preferredDuringSchedulingIgnoredDuringExecution: [
						{weight: 1, podAffinityTerm: {topologyKey: zone, namespaceSelector: {}, labelSelector: {}}}]}}}}
				{kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: i}], affinity: {podAffinity: {
					requiredDuringSchedulingIgnoredDuringExecution: [
						{topologyKey: zone, labelSelector: {}}]}}}}`,
			want: "pods=2",
		},
		"other kinds are not in a scope of pods": {
			quota:   `{hard: {pods: 9, count/configmaps: 9}, scopes: [BestEffort]}`,
			objects: `{kind: ConfigMap, metadata: {name: a}}`,
			want:    "count/configmaps=0 pods=0",
		},
		"services": {
			quota: `{hard: {services: 9, count/services: 9, services.nodeports: 9, services.loadbalancers: 9}}`,
			objects: `
				{kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}
				{kind: Service, metadata: {name: b}, spec: {type: NodePort, ports: [{port: 80, name: http}, {port: 81, name: admin}]}}
				{kind: Service, metadata: {name: c}, spec: {type: LoadBalancer, ports: [{port: 80}]}}
				{kind: Service, metadata: {name: d}, spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false,
					ports: [{port: 80}]}}`,
			want: "count/services=4 services=4 services.loadbalancers=2 services.nodeports=3",
		},
		"claims": {
			quota: `{hard: {persistentvolumeclaims: 9, count/persistentvolumeclaims: 9, requests.storage: 9Gi,
				gold.storageclass.storage.k8s.io/requests.storage: 9Gi, gold.storageclass.storage.k8s.io/persistentvolumeclaims: 9}}`,
			objects: `
				{kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce],
					storageClassName: gold, resources: {requests: {storage: 1Gi}}}}
				{kind: PersistentVolumeClaim, metadata: {name: b}, spec: {accessModes: [ReadWriteOnce],
					storageClassName: iron, resources: {requests: {storage: 2Gi}}}}`,
			want: "count/persistentvolumeclaims=2 gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 " +
				"gold.storageclass.storage.k8s.io/requests.storage=1Gi persistentvolumeclaims=2 requests.storage=3Gi",
		},
		"scope VolumeAttributesClass": {
			quota: `{hard: {persistentvolumeclaims: 9}, scopeSelector: {matchExpressions: [{scopeName: VolumeAttributesClass,
				operator: In, values: [fast]}]}}`,
			objects: `
				{kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce],
					volumeAttributesClassName: fast, resources: {requests: {storage: 1Gi}}}}
				{kind: PersistentVolumeClaim, metadata: {name: b}, spec: {accessModes: [ReadWriteOnce],
					resources: {requests: {storage: 2Gi}}}}`,
			want: "persistentvolumeclaims=1",
		},
	}
	for name, test := range tests {
		quota := `{kind: ResourceQuota, metadata: {name: quota}, spec: ` + test.quota + `}`
		t.Run(name, func(t *testing.T) {
			t.Run("counted", func(t *testing.T) {
				n := newNamespace(t)
				n.create(test.objects)
				n.create(quota)
				n.waitUsed(test.want)
			})
			t.Run("charged", func(t *testing.T) {
				n := newNamespace(t)
				n.create(quota)
				n.waitEnforced()
				n.create(test.objects)
				// A charge is made before the object is stored, so there is nothing to wait
				// for.
				if got := n.used(); got != test.want {
					t.Errorf("used: %s, want %s", got, test.want)
				}
			})
		})
	}
}

// The usage of objects that are deleted, finished or changed is released.
func TestRelease(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {
		pods: 2, count/pods: 3, secrets: 1, services.nodeports: 1, requests.storage: 2Gi}}}`)
	n.waitEnforced()
	n.create(`
		{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}
		{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i}]}}
		{kind: Secret, metadata: {name: a}}
		{kind: Service, metadata: {name: a}, spec: {type: NodePort, ports: [{port: 80}]}}`)
	n.createClaim("a", "1Gi")
	n.waitUsed("count/pods=2 pods=2 requests.storage=1Gi secrets=1 services.nodeports=1")

	n.delete("Secret", "a")
	n.waitUsed("count/pods=2 pods=2 requests.storage=1Gi secrets=0 services.nodeports=1")
	n.create(`{kind: Secret, metadata: {name: b}}`)

	// A finished pod still counts under count/pods.
	n.patch("Pod", "a", `{"status": {"phase": "Succeeded"}}`, "status")
	n.waitUsed("count/pods=2 pods=1 requests.storage=1Gi secrets=1 services.nodeports=1")
	n.create(`{kind: Pod, metadata: {name: c}, spec: {containers: [{name: c, image: i}]}}`)
	n.delete("Pod", "a")
	n.waitUsed("count/pods=2 pods=2 requests.storage=1Gi secrets=1 services.nodeports=1")

	n.patch("Service", "a", `{"spec": {"type": "ClusterIP"}}`)
	n.waitUsed("count/pods=2 pods=2 requests.storage=1Gi secrets=1 services.nodeports=0")
	n.patch("Service", "a", `{"spec": {"type": "NodePort"}}`)

	n.patch("PersistentVolumeClaim", "a", `{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}`)
	n.waitUsed("count/pods=2 pods=2 requests.storage=2Gi secrets=1 services.nodeports=1")
	n.delete("PersistentVolumeClaim", "a")
	n.waitUsed("count/pods=2 pods=2 requests.storage=0 secrets=1 services.nodeports=1")
}

// A pod moves to another scope when a client sets its activeDeadlineSeconds.
func TestScopeChanges(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {pods: 1}, scopes: [NotTerminating]}}`)
	n.create(`{kind: ResourceQuota, metadata: {name: other}, spec: {hard: {pods: 0}, scopes: [Terminating]}}`)
	n.waitEnforced()
	n.create(`{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}`)
	err := n.tryPatch("Pod", "a", `{"spec": {"activeDeadlineSeconds": 60}}`)
	const want = `pods "a" is forbidden: exceeded quota: other, requested: pods=1, used: pods=0, limited: pods=0`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	n.patch("ResourceQuota", "other", `{"spec": {"hard": {"pods": "1"}}}`)
	waittest.Until(n, "the client sets the deadline", func() error { return n.tryPatch("Pod", "a", `{"spec": {"activeDeadlineSeconds": 60}}`) })
	n.waitUsed("pods=0")
}

// The status is updated when the limits in the spec change.
func TestLimitsChange(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {secrets: 1}}}`)
	n.waitEnforced()
	n.create(`{kind: Secret, metadata: {name: a}}`)
	n.patch("ResourceQuota", "quota", `{"spec": {"hard": {"secrets": "2", "count/configmaps": "5"}}}`)
	n.waitUsed("count/configmaps=1 secrets=1")
	waittest.Until(n, "the client creates a second secret", func() error {
		return n.tryCreate(t.Context(), `{kind: Secret, metadata: {name: b}}`, metav1.CreateOptions{})
	})
	n.patch("ResourceQuota", "quota", `{"spec": {"hard": {"secrets": "1", "count/configmaps": null}}}`)
	n.waitUsed("secrets=2")
}

// A wrong status is corrected.
func TestWrongStatus(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: Secret, metadata: {name: a}}`)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {secrets: 9, pods: 9}}}`)
	n.waitUsed("pods=0 secrets=1")
	n.patch("ResourceQuota", "quota", `{"status": {"hard": {"secrets": "99"}, "used": {"secrets": "0", "pods": "7"}}}`, "status")
	n.waitUsed("pods=0 secrets=1")
}

func (n namespace) tryPatch(kind, name, patch string, subresource ...string) error {
	_, err := objects.Resource(resources[kind]).Namespace(n.name).Patch(n.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}, subresource...)
	return err
}

func (n namespace) patch(kind, name, patch string, subresource ...string) {
	n.Helper()
	if err := n.tryPatch(kind, name, patch, subresource...); err != nil {
		n.Fatal(err)
	}
}
