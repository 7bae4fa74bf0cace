package scheduling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

func createPriorityClass(t testing.TB, client kubernetes.Interface, manifest string) error {
	t.Helper()
	class := yamltest.Decode[schedulingv1.PriorityClass](t, manifest)
	_, err := client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{})
	return err
}

// scheduled returns the fields of a pod that the plugins set.
func scheduled(pod *corev1.Pod) corev1.PodSpec {
	spec := pod.Spec
	return corev1.PodSpec{
		PriorityClassName: spec.PriorityClassName, Priority: spec.Priority, PreemptionPolicy: spec.PreemptionPolicy,
		RuntimeClassName: spec.RuntimeClassName, Overhead: spec.Overhead, NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations,
	}
}

const (
	notReady    = `{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}`
	unreachable = `{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}`
	none        = `priority: 0, preemptionPolicy: PreemptLowerPriority`
)

func TestScheduling(t *testing.T) {
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	for _, class := range []string{
		`{metadata: {name: high}, value: 1000}`,
		`{metadata: {name: patient}, value: 10, preemptionPolicy: Never}`,
	} {
		if err := createPriorityClass(t, client, class); err != nil {
			t.Fatal(err)
		}
	}
	for _, class := range []string{
		`{metadata: {name: plain}, handler: runc}`,
		`{metadata: {name: vm}, handler: kata, overhead: {podFixed: {memory: 120Mi}},
			scheduling: {nodeSelector: {runtime: kata}, tolerations: [{key: vm, operator: Exists}]}}`,
	} {
		created := yamltest.Decode[nodev1.RuntimeClass](t, class)
		if _, err := client.NodeV1().RuntimeClasses().Create(t.Context(), created, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("pods", func(t *testing.T) { testPods(t, client) })
	t.Run("updates", func(t *testing.T) { testUpdates(t, client) })
	t.Run("topology", func(t *testing.T) { testTopology(t, client) })
	t.Run("system classes", func(t *testing.T) { testSystemClasses(t, client) })
	// The default class counts for all pods, so this test is the last one.
	t.Run("default class", func(t *testing.T) { testDefaultClass(t, client) })
}

func testPods(t *testing.T, client kubernetes.Interface) {
	const forbidden = `pods "p" is forbidden: `
	tests := map[string]struct{ pod, want, wantError string }{
		"nothing": {
			pod:  `{}`,
			want: `{` + none + `, tolerations: [` + notReady + `, ` + unreachable + `]}`,
		},
		"class": {
			pod: `{priorityClassName: high}`,
			want: `{priorityClassName: high, priority: 1000, preemptionPolicy: PreemptLowerPriority,
				tolerations: [` + notReady + `, ` + unreachable + `]}`,
		},
		"class that does not preempt": {
			pod: `{priorityClassName: patient, preemptionPolicy: Never, priority: 10}`,
			want: `{priorityClassName: patient, priority: 10, preemptionPolicy: Never,
				tolerations: [` + notReady + `, ` + unreachable + `]}`,
		},
		"class of the system": {
			pod: `{priorityClassName: system-node-critical}`,
			want: `{priorityClassName: system-node-critical, priority: 2000001000, preemptionPolicy: PreemptLowerPriority,
				tolerations: [` + notReady + `, ` + unreachable + `]}`,
		},
		"missing class": {
			pod:       `{priorityClassName: gone}`,
			wantError: forbidden + `no PriorityClass with name gone was found`,
		},
		"other priority": {
			pod: `{priorityClassName: high, priority: 1001}`,
			wantError: forbidden + `the integer value of priority (1001) must not be provided in pod spec; ` +
				`priority admission controller computed 1000 from the given PriorityClass name`,
		},
		"priority without class": {
			pod: `{priority: 1}`,
			wantError: forbidden + `the integer value of priority (1) must not be provided in pod spec; ` +
				`priority admission controller computed 0 from the given PriorityClass name`,
		},
		"other preemption policy": {
			pod: `{priorityClassName: high, preemptionPolicy: Never}`,
			wantError: forbidden + `the string value of PreemptionPolicy (Never) must not be provided in pod spec; ` +
				`priority admission controller computed PreemptLowerPriority from the given PriorityClass name`,
		},
		"toleration of its own": {
			pod: `{tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]}`,
			want: `{` + none + `, tolerations: [
				{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}, ` + unreachable + `]}`,
		},
		"toleration of another effect": {
			pod: `{tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoSchedule}]}`,
			want: `{` + none + `, tolerations: [
				{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoSchedule}, ` + notReady + `, ` + unreachable + `]}`,
		},
		"tolerates everything": {
			pod:  `{tolerations: [{operator: Exists}]}`,
			want: `{` + none + `, tolerations: [{operator: Exists}]}`,
		},
		"runtime class": {
			pod: `{runtimeClassName: vm, nodeSelector: {disk: ssd}}`,
			want: `{` + none + `, runtimeClassName: vm, overhead: {memory: 120Mi}, nodeSelector: {disk: ssd, runtime: kata},
				tolerations: [` + notReady + `, ` + unreachable + `, {key: vm, operator: Exists}]}`,
		},
		"runtime class, selector and overhead of the class": {
			pod: `{runtimeClassName: vm, nodeSelector: {runtime: kata}, overhead: {memory: 120Mi}, tolerations: [{operator: Exists}]}`,
			want: `{` + none + `, runtimeClassName: vm, overhead: {memory: 120Mi}, nodeSelector: {runtime: kata},
				tolerations: [{operator: Exists}]}`,
		},
		"runtime class covers a toleration": {
			pod: `{runtimeClassName: vm, tolerations: [{key: vm, operator: Equal, value: a, effect: NoSchedule}]}`,
			want: `{` + none + `, runtimeClassName: vm, overhead: {memory: 120Mi}, nodeSelector: {runtime: kata},
				tolerations: [` + notReady + `, ` + unreachable + `, {key: vm, operator: Exists}]}`,
		},
		"runtime class, other selector": {
			pod: `{runtimeClassName: vm, nodeSelector: {runtime: runc}}`,
			wantError: forbidden + `conflict: runtimeClass.scheduling.nodeSelector[runtime] = kata; ` +
				`pod.spec.nodeSelector[runtime] = runc`,
		},
		"runtime class, other overhead": {
			pod:       `{runtimeClassName: vm, overhead: {memory: 1Mi}}`,
			wantError: forbidden + `pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`,
		},
		"runtime class without overhead": {
			pod:       `{runtimeClassName: plain, overhead: {memory: 1Mi}}`,
			wantError: forbidden + `pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`,
		},
		"missing runtime class": {
			pod:       `{runtimeClassName: gone}`,
			wantError: forbidden + `pod rejected: RuntimeClass "gone" not found`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: *yamltest.Decode[corev1.PodSpec](t, test.pod)}
			pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
			created, err := client.CoreV1().Pods("default").Create(t.Context(), pod, dryRun)
			if got := message(err); got != test.wantError {
				t.Fatalf("error %q\nwant  %q", got, test.wantError)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(*yamltest.Decode[corev1.PodSpec](t, test.want), scheduled(created)); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// An update with a manifest that has neither priority nor tolerations keeps them.
func testUpdates(t *testing.T, client kubernetes.Interface) {
	pods := client.CoreV1().Pods("default")
	manifest := `{metadata: {name: kept}, spec: {priorityClassName: high, automountServiceAccountToken: false,
		containers: [{name: c, image: i}]}}`
	created, err := pods.Create(t.Context(), yamltest.Decode[corev1.Pod](t, manifest), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again := yamltest.Decode[corev1.Pod](t, manifest)
	again.Labels = map[string]string{"a": "b"}
	again.Spec.ServiceAccountName, again.Spec.DeprecatedServiceAccount = "default", "default"
	updated, err := pods.Update(t.Context(), again, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scheduled(created), scheduled(updated)); diff != "" {
		t.Errorf("pod (-created +updated):\n%s", diff)
	}
}

// A pod gets the zone and the region of its node when it is created and when it is bound.
func testTopology(t *testing.T, client kubernetes.Interface) {
	node := yamltest.Decode[corev1.Node](t, `{metadata: {name: host, labels: {topology.kubernetes.io/zone: z,
		topology.kubernetes.io/region: r, disk: ssd}}}`)
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("default")
	const zones = `topology.kubernetes.io/zone: z, topology.kubernetes.io/region: r`
	tests := map[string]struct{ labels, node, binding, want string }{
		"created":     {node: `host`, want: `{` + zones + `}`},
		"other label": {labels: `{a: b, topology.kubernetes.io/zone: mine}`, node: `host`, want: `{a: b, ` + zones + `}`},
		"bound":       {labels: `{a: b}`, binding: `{target: {kind: Node, name: host}}`, want: `{a: b, ` + zones + `}`},
		"bound with labels": {
			labels:  `{a: b, c: d}`,
			binding: `{metadata: {labels: {a: c}}, target: {name: host}}`,
			want:    `{a: c, c: d, ` + zones + `}`,
		},
		"no such node": {labels: `{a: b}`, node: `gone`, want: `{a: b}`},
		"not bound":    {labels: `{a: b}`, want: `{a: b}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "zone-", Labels: *yamltest.Decode[map[string]string](t, test.labels)}}
			pod.Spec = corev1.PodSpec{NodeName: test.node, Containers: []corev1.Container{{Name: "c", Image: "i"}}}
			created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if test.binding != "" {
				binding := yamltest.Decode[corev1.Binding](t, test.binding)
				binding.Name = created.Name
				if err := pods.Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			stored, err := pods.Get(t.Context(), created.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*yamltest.Decode[map[string]string](t, test.want), stored.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

// The server creates the classes of the system, and keeps them.
func testSystemClasses(t *testing.T, client kubernetes.Interface) {
	classes := client.SchedulingV1().PriorityClasses()
	const refusal = `priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: ` +
		`this is a system priority class and cannot be deleted`
	if err := classes.Delete(t.Context(), "system-node-critical", metav1.DeleteOptions{}); message(err) != refusal {
		t.Errorf("delete: %v, want %s", err, refusal)
	}
	only := metav1.ListOptions{FieldSelector: "metadata.name=system-node-critical"}
	if err := classes.DeleteCollection(t.Context(), metav1.DeleteOptions{}, only); message(err) != refusal {
		t.Errorf("delete collection: %v, want %s", err, refusal)
	}
	if err := createPriorityClass(t, client, `{metadata: {name: short-lived}, value: 1}`); err != nil {
		t.Fatal(err)
	}
	if err := classes.Delete(t.Context(), "short-lived", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	got := map[string]int32{}
	list, err := classes.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range list.Items {
		got[class.Name] = class.Value
	}
	want := map[string]int32{"high": 1000, "patient": 10, "system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

func testDefaultClass(t *testing.T, client kubernetes.Interface) {
	if err := createPriorityClass(t, client, `{metadata: {name: usual}, value: 5, globalDefault: true}`); err != nil {
		t.Fatal(err)
	}
	err := createPriorityClass(t, client, `{metadata: {name: other}, value: 6, globalDefault: true}`)
	const second = `priorityclasses.scheduling.k8s.io "other" is forbidden: ` +
		`PriorityClass usual is already marked as default. Only one default can exist`
	if message(err) != second {
		t.Errorf("second default: %v, want %s", err, second)
	}
	pod := yamltest.Decode[corev1.Pod](t, `{metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	waittest.Until(t, "pods get the default class", func() bool {
		created, err := client.CoreV1().Pods("default").Create(t.Context(), pod, dryRun)
		if err != nil {
			t.Fatal(err)
		}
		return created.Spec.PriorityClassName == "usual" && *created.Spec.Priority == 5
	})
}
