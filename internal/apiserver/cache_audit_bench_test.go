//go:build !plain

package apiserver_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// BenchmarkCacheAudit measures the processor time of one audit of 2,000 custom resources, with their texts, and 2,000 ConfigMaps.
func BenchmarkCacheAudit(b *testing.B) {
	s := startAudited(b, apiserver.Config{})
	const plural, objects = "bells", 2000
	defineAudited(b, s, plural)
	for i := range objects {
		name, value := fmt.Sprint("o-", i), strings.Repeat("x", 2000)
		if _, err := s.objects(plural, "v1").Create(b.Context(), auditedObject(plural, "v1", name, value), metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
		created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": value}}
		if _, err := s.Client(b).CoreV1().ConfigMaps("default").Create(b.Context(), created, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	s.get("/apis/" + auditedGroup + "/v1/namespaces/default/" + plural)
	s.get("/api/v1/configmaps")
	before := servertest.ProcessorTime(b)
	for b.Loop() {
		s.AuditCaches(b.Context())
	}
	b.ReportMetric((servertest.ProcessorTime(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/audit")
	for key, n := range s.figures() {
		if strings.HasPrefix(key, "differences_total") && n > 0 {
			b.Errorf("%s: %v", key, n)
		}
	}
}
