package lifecycle_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// BenchmarkNamespaceDeletion measures the time from the delete request for a namespace with
// ConfigMaps until the namespace is gone.
func BenchmarkNamespaceDeletion(b *testing.B) {
	c := cluster{servertest.Start(b, apiserver.Config{}).Cluster(b)}
	for _, size := range []int{0, 1, 1000} {
		b.Run(fmt.Sprintf("configmaps=%d", size), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				name := fmt.Sprintf("shop-%d-%d-%d", size, b.N, i)
				c.createNamespace(b, name)
				c.fill(b, name, size)
				b.StartTimer()
				c.deleteNamespace(b, name)
				waittest.Until(b, "namespace gone", func() bool { return c.namespaceGone(b, name) })
			}
		})
	}
}

// fill creates ConfigMaps, 16 in parallel.
func (c cluster) fill(b *testing.B, namespace string, size int) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range size {
		group.Go(func() error {
			object := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("settings-%d", i)},
				Data:       map[string]string{"key": "value"},
			}
			_, err := c.CoreV1().ConfigMaps(namespace).Create(b.Context(), object, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}
