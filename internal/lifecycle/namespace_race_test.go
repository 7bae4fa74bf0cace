package lifecycle_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestNamespaceDeletionDuringWrites checks that a namespace is removed although clients
// create objects in it, and that no object is left.
func TestNamespaceDeletionDuringWrites(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	for round := range 3 {
		name := fmt.Sprintf("shop-%d", round)
		c.createNamespace(t, name)
		configMaps := c.CoreV1().ConfigMaps(name)
		written := make(chan struct{}, 1)
		var writers errgroup.Group
		for writer := range 8 {
			writers.Go(func() error {
				for i := 0; ; i++ {
					object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("settings-%d-%d", writer, i)}}
					_, err := configMaps.Create(t.Context(), object, metav1.CreateOptions{})
					if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
						return nil
					}
					if err != nil {
						return err
					}
					select {
					case written <- struct{}{}:
					default:
					}
				}
			})
		}
		<-written
		c.deleteNamespace(t, name)
		if err := writers.Wait(); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, name) })
		left, err := configMaps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(left.Items); n > 0 {
			t.Errorf("%d ConfigMaps are left in the deleted namespace", n)
		}
	}
}
