package builtin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// A write to the scale is recorded in the managed fields of the object, with its time. A
// manager that writes the same count again does not take the field over.
func TestManagersOfScale(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	deployments := client.AppsV1().Deployments("default")
	d, count := deployment("web"), int32(2)
	d.Spec.Replicas = &count
	made, err := deployments.Create(t.Context(), d, metav1.CreateOptions{FieldManager: "maker"})
	if err != nil {
		t.Fatal(err)
	}
	scale := func(replicas int32, manager string) *appsv1.Deployment {
		t.Helper()
		current, err := deployments.GetScale(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		current.Spec.Replicas = replicas
		if _, err := deployments.UpdateScale(t.Context(), "web", current, metav1.UpdateOptions{FieldManager: manager}); err != nil {
			t.Fatal(err)
		}
		got, err := deployments.Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if diff := cmp.Diff(made, scale(2, "other")); diff != "" {
		t.Errorf("the same count changes (-before +after):\n%s", diff)
	}
	for _, count := range []int32{3, 4} {
		got := scale(count, "scaler")
		if len(got.ManagedFields) != 2 {
			t.Fatalf("managed fields %+v", got.ManagedFields)
		}
		for _, entry := range got.ManagedFields {
			if entry.Time.IsZero() {
				t.Errorf("%s wrote %s at no time", entry.Manager, entry.FieldsV1.GetRawString())
			}
		}
	}
}
