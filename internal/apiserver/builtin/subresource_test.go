package builtin_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
}

func TestSubresources(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	servertest.AwaitAccount(t, client, "default")
	t.Run("status", func(t *testing.T) {
		deployments := client.AppsV1().Deployments("default")
		d := deployment("status")
		d.Status.Replicas = 7
		created, err := deployments.Create(t.Context(), d, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if created.Status.Replicas != 0 || created.Generation != 1 {
			t.Errorf("created with status %d, generation %d", created.Status.Replicas, created.Generation)
		}
		changed := created.DeepCopy()
		changed.Status.Replicas, changed.Labels, changed.Spec.Paused = 3, map[string]string{"a": "b"}, true
		updated, err := deployments.UpdateStatus(t.Context(), changed, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if updated.Status.Replicas != 3 || updated.Labels["a"] != "" || updated.Spec.Paused || updated.Generation != 1 {
			t.Errorf("a write to status gives %+v, %+v", updated.ObjectMeta, updated.Status)
		}
		changed.ResourceVersion = updated.ResourceVersion
		changed.Status.Replicas = 9
		if updated, err = deployments.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if updated.Status.Replicas != 3 || updated.Labels["a"] != "b" || !updated.Spec.Paused || updated.Generation != 2 {
			t.Errorf("a write to the main resource gives %+v, %+v", updated.ObjectMeta, updated.Status)
		}
		if _, err := deployments.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("a stale status is answered with %v", err)
		}
	})
	t.Run("scale", func(t *testing.T) {
		deployments := client.AppsV1().Deployments("default")
		if _, err := deployments.Create(t.Context(), deployment("scale"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		scale, err := deployments.GetScale(t.Context(), "scale", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if scale.Spec.Replicas != 1 || scale.Status.Selector != "app=scale" {
			t.Errorf("scale is %+v, %+v", scale.Spec, scale.Status)
		}
		scale.Spec.Replicas = 4
		if _, err := deployments.UpdateScale(t.Context(), "scale", scale, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := deployments.UpdateScale(t.Context(), "scale", scale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("a stale scale is answered with %v", err)
		}
		negative := []byte(`{"spec":{"replicas":-1}}`)
		_, err = deployments.Patch(t.Context(), "scale", types.MergePatchType, negative, metav1.PatchOptions{}, "scale")
		if !apierrors.IsInvalid(err) {
			t.Errorf("negative replicas are answered with %v", err)
		}
		found, err := deployments.Get(t.Context(), "scale", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if *found.Spec.Replicas != 4 || found.Generation != 2 {
			t.Errorf("after scaling: %d replicas, generation %d", *found.Spec.Replicas, found.Generation)
		}
		none := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: "default"}}
		if _, err := deployments.UpdateScale(t.Context(), "none", none, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the scale of nothing is answered with %v", err)
		}
	})
	t.Run("binding", func(t *testing.T) {
		pods := client.CoreV1().Pods("default")
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "bound"},
			Spec: corev1.PodSpec{
				// The period of the request below takes precedence over this one.
				TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{Name: "c", Image: "i"}},
			},
		}
		created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}
		other := binding.DeepCopy()
		other.UID = "other"
		if err := pods.Bind(t.Context(), other, metav1.CreateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("a binding for another pod of this name is answered with %v", err)
		}
		binding.UID = created.UID
		if err := pods.Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := pods.Bind(t.Context(), binding, metav1.CreateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("a second binding is answered with %v", err)
		}
		found, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=n1"})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Items) != 1 || found.Items[0].Status.Conditions[0].Type != corev1.PodScheduled {
			t.Errorf("pods on n1: %+v", found.Items)
		}
		// A pod that is bound to a node is deleted in two steps, another one at once.
		if err := pods.Delete(t.Context(), "bound", *metav1.NewDeleteOptions(300)); err != nil {
			t.Fatal(err)
		}
		going, err := pods.Get(t.Context(), "bound", metav1.GetOptions{})
		if err != nil || going.DeletionTimestamp == nil || *going.DeletionGracePeriodSeconds != 300 {
			t.Errorf("a bound pod in deletion: %+v, %v", going.ObjectMeta, err)
		}
		if err := pods.Delete(t.Context(), "bound", *metav1.NewDeleteOptions(0)); err != nil {
			t.Fatal(err)
		}
		if _, err := pods.Get(t.Context(), "bound", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("a pod deleted with no grace is answered with %v", err)
		}
	})
}
