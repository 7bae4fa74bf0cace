package builtin_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// runningPod creates a pod on a node that reports it as running, and as ready or not.
func runningPod(t *testing.T, client kubernetes.Interface, name string, ready corev1.ConditionStatus) *corev1.Pod {
	t.Helper()
	pods := client.CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return pod
}

// newBudget creates the budget of a pod. status is what a disruption controller would write.
func newBudget(t *testing.T, client kubernetes.Interface, pod string, status policyv1.PodDisruptionBudgetStatus) {
	t.Helper()
	budgets := client.PolicyV1().PodDisruptionBudgets("default")
	one := intstr.FromInt32(1)
	budget, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: pod},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	budget.Status = status
	if _, err := budgets.UpdateStatus(t.Context(), budget, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func evict(t *testing.T, client kubernetes.Interface, name string, options *metav1.DeleteOptions) error {
	t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}, DeleteOptions: options}
	// The client would repeat a refused eviction after the time that the server names.
	return client.CoreV1().RESTClient().Post().MaxRetries(0).
		Namespace("default").Resource("pods").Name(name).SubResource("eviction").Body(eviction).Do(t.Context()).Error()
}

// TestEviction evicts pods with budgets in several states.
func TestEviction(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	enough := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1}
	tooFew := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 1, DesiredHealthy: 1}
	const over = "Cannot evict pod as it would violate the pod's disruption budget."
	tests := map[string]struct {
		ready  corev1.ConditionStatus
		budget *policyv1.PodDisruptionBudgetStatus
		// cause is the cause of the error; empty if the pod is evicted.
		cause      string
		retryAfter int
		left       int32
		disrupted  bool
	}{
		"no-budget": {ready: corev1.ConditionTrue},
		"enough":    {ready: corev1.ConditionTrue, budget: &enough, disrupted: true},
		"too-few": {
			ready: corev1.ConditionTrue, budget: &tooFew,
			cause: "The disruption budget too-few needs 1 healthy pods and has 1 currently",
		},
		"not-observed": {
			ready: corev1.ConditionTrue, budget: &policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
			cause: "The disruption budget not-observed is still being processed by the server.", retryAfter: 10, left: 1,
		},
		"unready-while-enough": {ready: corev1.ConditionFalse, budget: &enough, left: 1},
		"unready-of-too-few": {
			ready: corev1.ConditionFalse, budget: &policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1},
			cause: "The disruption budget unready-of-too-few needs 1 healthy pods and has 0 currently",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runningPod(t, client, name, test.ready)
			if test.budget != nil {
				newBudget(t, client, name, *test.budget)
			}
			err := evict(t, client, name, nil)
			if test.cause == "" && err != nil {
				t.Fatal(err)
			}
			if test.cause != "" {
				want := &metav1.Status{
					Status: metav1.StatusFailure, Reason: metav1.StatusReasonTooManyRequests,
					Code: http.StatusTooManyRequests, Message: over,
					Details: &metav1.StatusDetails{
						RetryAfterSeconds: int32(test.retryAfter),
						Causes:            []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: test.cause}},
					},
				}
				status := err.(apierrors.APIStatus).Status()
				if diff := cmp.Diff(want, &status); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			}
			pod, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			checkEvicted(t, pod, test.cause == "")
			if test.budget == nil {
				return
			}
			budget, err := client.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			_, disrupted := budget.Status.DisruptedPods[name]
			if budget.Status.DisruptionsAllowed != test.left || disrupted != test.disrupted {
				t.Errorf("status of the budget: %+v", budget.Status)
			}
		})
	}
}

// checkEvicted checks that a pod on a node is being deleted and says why, or is untouched.
func checkEvicted(t *testing.T, pod *corev1.Pod, want bool) {
	t.Helper()
	target := false
	for _, condition := range pod.Status.Conditions {
		target = target || condition.Type == corev1.DisruptionTarget && condition.Reason == "EvictionByEvictionAPI"
	}
	if evicted := pod.DeletionTimestamp != nil; evicted != want || target != want {
		t.Errorf("being deleted: %t, condition DisruptionTarget: %t, want both %t", evicted, target, want)
	}
}

// TestEvictionOptions checks dry runs and preconditions, and pods that need no budget.
func TestEvictionOptions(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	pods := client.CoreV1().Pods("default")
	allowed := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 3, CurrentHealthy: 4, DesiredHealthy: 1}

	runningPod(t, client, "dry", corev1.ConditionTrue)
	newBudget(t, client, "dry", allowed)
	if err := evict(t, client, "dry", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	unchanged, err := pods.Get(t.Context(), "dry", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkEvicted(t, unchanged, false)
	budget, err := client.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "dry", metav1.GetOptions{})
	if err != nil || budget.Status.DisruptionsAllowed != 3 || len(budget.Status.DisruptedPods) > 0 {
		t.Errorf("after a dry run: %+v, %v", budget.Status, err)
	}

	other, old := types.UID("other"), "1"
	for _, conditions := range []metav1.Preconditions{{UID: &other}, {ResourceVersion: &old}} {
		if err := evict(t, client, "dry", &metav1.DeleteOptions{Preconditions: &conditions}); !apierrors.IsConflict(err) {
			t.Errorf("preconditions %v are answered with %v", conditions, err)
		}
	}
	if err := evict(t, client, "none", nil); !apierrors.IsNotFound(err) {
		t.Errorf("the eviction of nothing is answered with %v", err)
	}
	newBudget(t, client, "again", allowed)
	pod := runningPod(t, client, "again", corev1.ConditionTrue)
	if err := evict(t, client, "again", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}}); err != nil {
		t.Error(err)
	}

	waiting := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "waiting", Labels: map[string]string{"app": "waiting"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := pods.Create(t.Context(), waiting, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	newBudget(t, client, "waiting", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1})
	if err := evict(t, client, "waiting", nil); err != nil {
		t.Errorf("a pod that does not run yet: %v", err)
	}
	if _, err := pods.Get(t.Context(), "waiting", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its eviction: %v", err)
	}

	runningPod(t, client, "old", corev1.ConditionTrue)
	body := `{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"old"}}`
	err = client.CoreV1().RESTClient().Post().AbsPath("/api/v1/namespaces/default/pods/old/eviction").
		SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(t.Context()).Error()
	if err != nil {
		t.Errorf("eviction in v1beta1: %v", err)
	}
}
