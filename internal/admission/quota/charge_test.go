package quota_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestExceededQuota lists requests that a quota does not allow, with their errors.
func TestExceededQuota(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ quota, objects, request, want string }{
		"number of objects": {
			quota:   `{hard: {secrets: 1}}`,
			objects: `{kind: Secret, metadata: {name: a}}`,
			request: `{kind: Secret, metadata: {name: b}}`,
			want:    `secrets "b" is forbidden: exceeded quota: quota, requested: secrets=1, used: secrets=1, limited: secrets=1`,
		},
		"number of objects, count/ name": {
			quota: `{hard: {count/jobs.batch: 0}}`,
			request: `{kind: Job, metadata: {name: b}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c,
				image: i}]}}}}`,
			want: `jobs.batch "b" is forbidden: exceeded quota: quota, requested: count/jobs.batch=1, used: count/jobs.batch=0, ` +
				`limited: count/jobs.batch=0`,
		},
		"several limits": {
			quota: `{hard: {requests.cpu: 1, limits.memory: 1Gi, pods: 9}}`,
			objects: `{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i,
				resources: {requests: {cpu: 800m}, limits: {memory: 512Mi}}}]}}`,
			request: `{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i,
				resources: {requests: {cpu: 300m}, limits: {memory: 1Gi}}}]}}`,
			want: `pods "b" is forbidden: exceeded quota: quota, requested: limits.memory=1Gi,requests.cpu=300m, used: ` +
				`limits.memory=512Mi,requests.cpu=800m, limited: limits.memory=1Gi,requests.cpu=1`,
		},
		"containers without required resources": {
			quota: `{hard: {requests.cpu: 1, limits.memory: 1Gi, requests.ephemeral-storage: 1Gi}}`,
			request: `{kind: Pod, metadata: {name: b}, spec: {initContainers: [{name: i, image: i,
				resources: {limits: {memory: 1Mi}}}], containers: [{name: c, image: i}, {name: d, image: i,
				resources: {requests: {cpu: 1m}, limits: {memory: 1Mi}}}]}}`,
			want: `pods "b" is forbidden: failed quota: quota: must specify limits.memory for: c; requests.cpu for: c,i`,
		},
		"extended resource": {
			quota: `{hard: {requests.example.com/gpu: 1}}`,
			request: `{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i,
				resources: {limits: {example.com/gpu: 2}}}]}}`,
			want: `pods "b" is forbidden: exceeded quota: quota, requested: requests.example.com/gpu=2, used: ` +
				`requests.example.com/gpu=0, limited: requests.example.com/gpu=1`,
		},
		"scope": {
			quota:   `{hard: {pods: 0}, scopes: [BestEffort]}`,
			objects: `{kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}`,
			request: `{kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, image: i}]}}`,
			want:    `pods "b" is forbidden: exceeded quota: quota, requested: pods=1, used: pods=0, limited: pods=0`,
		},
		"storage of a class": {
			quota: `{hard: {gold.storageclass.storage.k8s.io/requests.storage: 1Gi}}`,
			objects: `{kind: PersistentVolumeClaim, metadata: {name: a}, spec: {accessModes: [ReadWriteOnce],
				storageClassName: iron, resources: {requests: {storage: 2Gi}}}}`,
			request: `{kind: PersistentVolumeClaim, metadata: {name: b}, spec: {accessModes: [ReadWriteOnce],
				storageClassName: gold, resources: {requests: {storage: 2Gi}}}}`,
			want: `persistentvolumeclaims "b" is forbidden: exceeded quota: quota, requested: ` +
				`gold.storageclass.storage.k8s.io/requests.storage=2Gi, used: gold.storageclass.storage.k8s.io/requests.storage=0, ` +
				`limited: gold.storageclass.storage.k8s.io/requests.storage=1Gi`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNamespace(t)
			n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: ` + test.quota + `}`)
			n.waitEnforced()
			n.create(test.objects)
			err := n.tryCreate(t.Context(), test.request, metav1.CreateOptions{})
			if !apierrors.IsForbidden(err) || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// An update is charged for the additional usage.
func TestExceededQuotaOnUpdate(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {services.nodeports: 0, requests.storage: 1Gi}}}`)
	n.waitEnforced()
	n.create(`{kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}`)
	n.createClaim("a", "1Gi")
	err := n.tryPatch("Service", "a", `{"spec": {"type": "NodePort"}}`)
	want := `services "a" is forbidden: exceeded quota: quota, ` +
		`requested: services.nodeports=1, used: services.nodeports=0, limited: services.nodeports=0`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	err = n.tryPatch("PersistentVolumeClaim", "a", `{"spec": {"resources": {"requests": {"storage": "3Gi"}}}}`)
	want = `persistentvolumeclaims "a" is forbidden: exceeded quota: quota, ` +
		`requested: requests.storage=2Gi, used: requests.storage=1Gi, limited: requests.storage=1Gi`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	n.patch("Service", "a", `{"metadata": {"labels": {"a": "b"}}}`)
}

// A dry run is checked, but not charged.
func TestDryRun(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {secrets: 1}}}`)
	n.waitEnforced()
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for range 2 {
		if err := n.tryCreate(t.Context(), `{kind: Secret, metadata: {name: a}}`, dryRun); err != nil {
			t.Fatal(err)
		}
	}
	n.create(`{kind: Secret, metadata: {name: a}}`)
	if err := n.tryCreate(t.Context(), `{kind: Secret, metadata: {name: b}}`, dryRun); !apierrors.IsForbidden(err) {
		t.Errorf("dry run that exceeds the quota: %v", err)
	}
}

// A charge for an object that was not stored is released.
func TestFailedCreate(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {secrets: 3}}}`)
	n.waitEnforced()
	n.create(`{kind: Secret, metadata: {name: a}}`)
	changes, err := typed.CoreV1().ResourceQuotas(n.name).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	err = n.tryCreate(t.Context(), `{kind: Secret, metadata: {name: a}}`, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	// The charge is in the status until it expires.
	for charged := false; !charged; {
		event, open := <-changes.ResultChan()
		if !open {
			t.Fatal("the watch ended before the failed request was charged")
		}
		quota, ok := event.Object.(*corev1.ResourceQuota)
		charged = ok && quota.Status.Used.Name(corev1.ResourceSecrets, resource.DecimalSI).Value() == 2
	}
	n.waitUsed("secrets=1")
}

// Concurrent requests do not exceed a quota.
func TestParallelCreates(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {pods: 10}}}`)
	n.create(`{kind: ResourceQuota, metadata: {name: other}, spec: {hard: {requests.cpu: 5}}}`)
	n.waitEnforced()
	var creating sync.WaitGroup
	var created atomic.Int64
	for i := range 50 {
		creating.Go(func() {
			pod := fmt.Sprintf(`{kind: Pod, metadata: {name: pod-%d}, spec: {containers: [
				{name: c, image: i, resources: {requests: {cpu: 100m}}}]}}`, i)
			switch err := n.tryCreate(t.Context(), pod, metav1.CreateOptions{}); {
			case err == nil:
				created.Add(1)
			case !apierrors.IsForbidden(err):
				t.Error(err)
			}
		})
	}
	creating.Wait()
	if got := created.Load(); got != 10 {
		t.Errorf("%d pods were created, the quota allows 10", got)
	}
	n.waitUsed("pods=10")
}

// While objects are created and deleted concurrently, there are never more than the quota
// allows. In the end, the usage is zero.
func TestChurn(t *testing.T) {
	t.Parallel()
	const limit, workers, rounds = 5, 12, 25
	n := newNamespace(t)
	n.create(fmt.Sprintf(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {secrets: %d}}}`, limit))
	n.waitEnforced()
	watcher, err := typed.CoreV1().Secrets(n.name).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()

	var churning sync.WaitGroup
	var created atomic.Int64
	for worker := range workers {
		churning.Go(func() {
			for round := range rounds {
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s-%d-%d", worker, round)}}
				_, err := typed.CoreV1().Secrets(n.name).Create(t.Context(), secret, metav1.CreateOptions{})
				if apierrors.IsForbidden(err) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				created.Add(1)
				if err := typed.CoreV1().Secrets(n.name).Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	churning.Wait()
	if created.Load() < limit {
		t.Errorf("only %d secrets were created", created.Load())
	}
	existing, seen := 0, int64(0)
	for existing > 0 || seen < created.Load() {
		switch event := waittest.Receive(t, "the deletion of all secrets", watcher.ResultChan()); event.Type {
		case watch.Added:
			seen++
			if existing++; existing > limit {
				t.Fatalf("%d secrets at the same time, the quota allows %d", existing, limit)
			}
		case watch.Deleted:
			existing--
		case watch.Modified, watch.Bookmark, watch.Error:
			t.Fatalf("watch: %+v", event)
		}
	}
	n.waitUsed("secrets=0")
}

// Custom resources count from the first one on. After their definition is deleted, they
// no longer count.
func TestCustomResources(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {count/widgets.quota.example.com: 2}}}`)
	n.waitUsed("count/widgets.quota.example.com=0")
	n.waitEnforced()
	n.define()
	createWidget := func() error {
		return n.tryCreate(t.Context(), `{kind: Widget, metadata: {name: a}}`, metav1.CreateOptions{})
	}
	waittest.Until(n, "the client creates the first widget", createWidget)
	n.create(`{kind: Widget, metadata: {name: b}}`)
	err := n.tryCreate(t.Context(), `{kind: Widget, metadata: {name: c}}`, metav1.CreateOptions{})
	want := `widgets.quota.example.com "c" is forbidden: exceeded quota: quota, ` +
		`requested: count/widgets.quota.example.com=1, used: count/widgets.quota.example.com=2, ` +
		`limited: count/widgets.quota.example.com=2`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	n.delete("Widget", "a")
	n.waitUsed("count/widgets.quota.example.com=1")
	n.undefine()
	n.waitUsed("count/widgets.quota.example.com=0")
	n.define()
	waittest.Until(n, "the client creates a widget of the new definition", createWidget)
	n.waitUsed("count/widgets.quota.example.com=1")
}

// define creates the CustomResourceDefinition of widgets.
func (n namespace) define() {
	n.Helper()
	crd := yamltest.Object(n, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.quota.example.com}
spec:
  group: quota.example.com
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`)
	if _, err := objects.Resource(definitions).Create(n.Context(), crd, metav1.CreateOptions{}); err != nil {
		n.Fatal(err)
	}
}

// undefine deletes the CustomResourceDefinition and waits until it is removed.
func (n namespace) undefine() {
	n.Helper()
	const name = "widgets.quota.example.com"
	if err := objects.Resource(definitions).Delete(n.Context(), name, metav1.DeleteOptions{}); err != nil {
		n.Fatal(err)
	}
	waittest.Until(n, "the definition is removed", func() bool {
		_, err := objects.Resource(definitions).Get(n.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// A request that another admission plugin rejects is not charged.
func TestRejectedRequestIsNotCharged(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.create(`{kind: ResourceQuota, metadata: {name: quota}, spec: {hard: {secrets: 9}}}`)
	n.waitEnforced()
	for _, manifest := range []string{`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: quota.example.com}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}
  validations: [{expression: object.metadata.name != "bad"}]
`, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: quota.example.com}
spec:
  policyName: quota.example.com
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ` + n.name + `}}}
`} {
		obj := yamltest.Object(t, manifest)
		kind := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
		if obj.GetKind() == "ValidatingAdmissionPolicyBinding" {
			kind.Resource = "validatingadmissionpolicybindings"
		}
		if _, err := objects.Resource(kind).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	rejected := func(options metav1.CreateOptions) bool {
		return apierrors.IsInvalid(n.tryCreate(t.Context(), `{kind: Secret, metadata: {name: bad}}`, options))
	}
	waittest.Until(t, "the policy is enforced", func() bool {
		return rejected(metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	})
	if !rejected(metav1.CreateOptions{}) {
		t.Error("the policy does not reject the secret")
	}
	if got := n.used(); got != "secrets=0" {
		t.Errorf("used: %s", got)
	}
}
