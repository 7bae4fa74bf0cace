package garbage_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestUnusedDefinition checks that neither the collector nor the deletion of a namespace sends requests
// for a resource without objects. The first request makes the server compile the definition and fill a
// watch cache.
func TestUnusedDefinition(t *testing.T) {
	t.Parallel()
	const group, count = "unused.example.com", "count/widgets.unused.example.com"
	shared.createDefinition(t, group, `[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]`)
	tr := newTree(t, shared, "unused")
	quotas := shared.CoreV1().ResourceQuotas(tr.namespace)
	if _, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{count: resource.MustParse("5")}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the collector has counted the objects", func() bool {
		quota, err := quotas.Get(t.Context(), "widgets", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, counted := quota.Status.Used[count]
		return counted
	})
	if err := shared.CoreV1().Namespaces().Delete(t.Context(), tr.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the namespace is gone", func() bool {
		_, err := shared.CoreV1().Namespaces().Get(t.Context(), tr.namespace, metav1.GetOptions{})
		return notFound(t, err)
	})
	metrics, err := shared.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const requests = `apiserver_request_total{`
	if !strings.Contains(string(metrics), requests) {
		t.Errorf("the server has no metric %s", requests)
	}
	for line := range strings.Lines(string(metrics)) {
		if strings.HasPrefix(line, requests) && strings.Contains(line, `group="`+group+`"`) {
			t.Errorf("a request for a resource that nobody uses: %s", line)
		}
	}
}
