package policies_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
)

// BenchmarkUpdate updates a ConfigMap: without a policy, with one for another kind, and with one for ConfigMaps.
func BenchmarkUpdate(b *testing.B) {
	f := start(b, apiserver.Config{})
	client := f.server.Client(b).CoreV1().ConfigMaps("default")
	data := map[string]string{"count": "0"}
	for i := range 20 {
		data[fmt.Sprint("key", i)] = "a value of some length, as configurations have them"
	}
	obj, err := client.Create(b.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Data: data}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	count := 0
	update := func(b *testing.B) {
		for b.Loop() {
			count++
			obj.Data["count"] = fmt.Sprint(count)
			if obj, err = client.Update(b.Context(), obj, metav1.UpdateOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("no policy", update)
	f.policy("secrets", `{resources: [secrets], rules: [immutable data]}`)
	b.Run("a policy for Secrets", update)
	f.policy("configmaps", `{resources: [configmaps], rules: [addition-only data, immutable immutable]}`)
	b.Run("a policy for ConfigMaps", update)
}
