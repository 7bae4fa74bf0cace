package policies_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/apiserver"
)

// BenchmarkUpdate updates a ConfigMap on three servers: without a policy, with one rule about ConfigMaps, and with ten. No update breaks a
// rule. The servers take turns, so that a busy machine slows down all of them. Each figure is the median.
func BenchmarkUpdate(b *testing.B) {
	rules := []int{0, 1, 10}
	clients, objects := make([]typedcorev1.ConfigMapInterface, len(rules)), make([]*corev1.ConfigMap, len(rules))
	for i, count := range rules {
		f := start(b, apiserver.Config{DataDir: b.TempDir()})
		var lines []string
		for key := range count {
			lines = append(lines, fmt.Sprintf("immutable data.key%d", key))
		}
		if count > 0 {
			f.policy("configmaps", `{resources: [configmaps], rules: [`+strings.Join(lines, ", ")+`]}`)
		}
		clients[i] = f.server.Client(b).CoreV1().ConfigMaps("default")
		objects[i] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Data: map[string]string{}}
		for key := range 20 {
			objects[i].Data[fmt.Sprint("key", key)] = "a value of some length, as configurations have them"
		}
		var err error
		if objects[i], err = clients[i].Create(b.Context(), objects[i], metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	times := make([][]time.Duration, len(rules))
	for count := 0; b.Loop(); count++ {
		for i, client := range clients {
			objects[i].Data["count"] = fmt.Sprint(count)
			began := time.Now()
			updated, err := client.Update(b.Context(), objects[i], metav1.UpdateOptions{})
			if err != nil {
				b.Fatal(err)
			}
			times[i], objects[i] = append(times[i], time.Since(began)), updated
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, count := range rules {
		slices.Sort(times[i])
		b.ReportMetric(float64(times[i][len(times[i])/2].Microseconds()), fmt.Sprintf("µs/update-rules=%d", count))
	}
}
