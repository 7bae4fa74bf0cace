package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
)

// TestEarlierInstance checks that an Instance waits until the objects of an earlier Instance of
// its name are gone. A finalizer keeps the objects, whenever the garbage collector deletes them.
func TestEarlierInstance(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "again", "0.1.0", `
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-a'}, data: {whose: later}}"}
tasks: [{name: apply, kind: Apply, spec: {resources: [a.yaml]}}, {name: delete, kind: Delete, spec: {resources: [a.yaml]}}]
plans:
  deploy: {phases: [{name: main, steps: [{name: only, tasks: [apply]}]}]}
  clear: {phases: [{name: main, steps: [{name: only, tasks: [delete]}]}]}
`)
	objects := c.CoreV1().ConfigMaps(c.Namespace)
	leave := func(instance string) {
		t.Helper()
		if _, err := objects.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: instance + "-a", Finalizers: []string{"example.com/kept"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: api.GroupVersion.String(), Kind: "Instance", Name: instance, UID: "earlier"}},
		}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	release := func(instance string) {
		t.Helper()
		c.awaitMessage(t, instance, "ConfigMap "+instance+"-a is of an earlier instance "+instance+" and will be deleted")
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := objects.Patch(t.Context(), instance+"-a", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		c.awaitComplete(t, instance)
	}

	leave("applies")
	c.install(t, "applies", "again-0.1.0", nil)
	release("applies")
	if whose := c.get(t, "configmaps", "applies-a").Object["data"].(map[string]any)["whose"]; whose != "later" {
		t.Errorf("the object is of the %v instance", whose)
	}

	c.install(t, "deletes", "again-0.1.0", nil)
	c.awaitComplete(t, "deletes")
	if err := objects.Delete(t.Context(), "deletes-a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	leave("deletes")
	if err := c.change(t, "deletes", func(i *api.Instance) { i.Spec.PlanExecution = api.PlanExecution{PlanName: "clear"} }); err != nil {
		t.Fatal(err)
	}
	release("deletes")
}
