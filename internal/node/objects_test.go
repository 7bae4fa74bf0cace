package node_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// apply creates the objects of YAML documents in the namespace of the test.
func (c *cluster) apply(t testing.TB, documents string) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		var err error
		switch kind := yamltest.Known[metav1.TypeMeta](t, document).Kind; kind {
		case "ConfigMap":
			obj := yamltest.Decode[corev1.ConfigMap](t, document)
			_, err = c.admin.CoreV1().ConfigMaps(c.namespace).Create(t.Context(), obj, metav1.CreateOptions{})
		case "Secret":
			obj := yamltest.Decode[corev1.Secret](t, document)
			_, err = c.admin.CoreV1().Secrets(c.namespace).Create(t.Context(), obj, metav1.CreateOptions{})
		case "Pod":
			obj := yamltest.Decode[corev1.Pod](t, document)
			obj.Spec.NodeName += c.suffix
			if obj.Spec.Containers == nil {
				obj.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
			}
			if obj.Spec.TerminationGracePeriodSeconds == nil {
				obj.Spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
			}
			// The server may not have created the default service account yet.
			waittest.Until(t, "pod created", func() bool {
				_, err = c.admin.CoreV1().Pods(c.namespace).Create(t.Context(), obj, metav1.CreateOptions{})
				return err == nil || !strings.Contains(err.Error(), "service account")
			})
		default:
			t.Fatalf("kind %q", kind)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pod returns a Pod in YAML. volumes is YAML in flow style.
func pod(name, nodeName, volumes string) string {
	return fmt.Sprintf("{kind: Pod, metadata: {name: %s}, "+
		"spec: {nodeName: %s, automountServiceAccountToken: false, volumes: %s}}", name, nodeName, volumes)
}

// deletePod deletes a pod with its grace period.
func (c *cluster) deletePod(t testing.TB, name string) {
	t.Helper()
	c.deletePodWith(t, name, metav1.DeleteOptions{})
}

// deletePodNow deletes a pod with a grace period of 0.
func (c *cluster) deletePodNow(t testing.TB, name string) {
	t.Helper()
	now := int64(0)
	c.deletePodWith(t, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

func (c *cluster) deletePodWith(t testing.TB, name string, options metav1.DeleteOptions) {
	t.Helper()
	if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), name, options); err != nil {
		t.Fatal(err)
	}
}

// patchPod applies a JSON merge patch to a pod.
func (c *cluster) patchPod(t testing.TB, name, patch string) {
	t.Helper()
	_, err := c.admin.CoreV1().Pods(c.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// deleteConfigMap deletes a ConfigMap.
func (c *cluster) deleteConfigMap(t testing.TB, name string) {
	t.Helper()
	if err := c.admin.CoreV1().ConfigMaps(c.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// recreate deletes a ConfigMap and creates it again from a YAML document.
func (c *cluster) recreate(t testing.TB, name, document string) {
	t.Helper()
	c.deleteConfigMap(t, name)
	c.apply(t, document)
}

// setData sets the only key of a ConfigMap, app.conf.
func (c *cluster) setData(t testing.TB, name, value string) {
	t.Helper()
	c.updateConfigMap(t, name, func(object *corev1.ConfigMap) { object.Data = map[string]string{"app.conf": value} })
}

// updateConfigMap reads a ConfigMap, changes it and writes it back.
func (c *cluster) updateConfigMap(t testing.TB, name string, change func(*corev1.ConfigMap)) {
	t.Helper()
	maps := c.admin.CoreV1().ConfigMaps(c.namespace)
	object, err := maps.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(object)
	if _, err := maps.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
