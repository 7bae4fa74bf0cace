package apiserver_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// BenchmarkUnreferenced judges 100 Secrets in a namespace with 2,000 pods that do not refer to them. A read for each of them would take 100 times as
// long as one for all.
func BenchmarkUnreferenced(b *testing.B) {
	server := servertest.Start(b, apiserver.Config{})
	client, index := server.Cluster(b), server.References()
	const secrets = 100
	for i := range 2000 {
		pod := yamltest.Decode[corev1.Pod](b, fmt.Sprintf(
			`{metadata: {name: pod-%d}, spec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: other-%d}}]}]}}`, i, i))
		if _, err := client.CoreV1().Pods("default").Create(b.Context(), pod, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range secrets {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("due-", i)}, Immutable: ptr.To(true)}
		if _, err := client.CoreV1().Secrets("default").Create(b.Context(), secret, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	waittest.Until(b, "the index knows the last Secret", func() bool {
		_, unused := index.Unused(references.Secret, "default", fmt.Sprint("due-", secrets-1))
		return unused
	})
	for b.Loop() {
		for i := range secrets {
			fenced, ok, err := index.Unreferenced(b.Context(), references.Secret, "default", fmt.Sprint("due-", i))
			if err != nil || !ok {
				b.Fatalf("due-%d: %t, %v", i, ok, err)
			}
			if _, ok := etcd.FenceOf(fenced); !ok {
				b.Fatal("no fence")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/secrets, "µs/object")
}
