package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/lifecycle"
)

// A kind that is added, used on both sides of references and removed while
// others write: what belonged to its objects goes with them, and nothing else.
func TestGarbageOfKindsThatComeAndGo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	tr := newTree(t, c, "shop")
	tr.plant(t, "stays")
	stays := tr.ref(t, "stays")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers errgroup.Group
	var written atomic.Int64
	for writer := range 2 {
		writers.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("other-%d-%d", writer, i), OwnerReferences: []metav1.OwnerReference{stays},
				}}
				if _, err := c.CoreV1().ConfigMaps("shop").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					return err
				}
				written.Add(1)
			}
			return nil
		})
	}
	for range 2 {
		client := c.defineWidgets(t)
		for i := range 10 {
			owner, err := client.Resource(widgets).Namespace("shop").Create(t.Context(), widget(fmt.Sprintf("w-%d", i)), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for j := range 3 {
				tr.plantWith(t, metav1.ObjectMeta{Name: fmt.Sprintf("part-%d-%d", i, j), OwnerReferences: []metav1.OwnerReference{ownedBy(owner)}})
			}
			tr.plantWith(t, metav1.ObjectMeta{Name: fmt.Sprintf("shared-%d", i), OwnerReferences: []metav1.OwnerReference{ownedBy(owner), stays}})
		}
		if _, err := client.Resource(widgets).Namespace("shop").Create(t.Context(), widget("child", stays), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		// An owner of the new kind that goes on its own: its parts are followed.
		if err := client.Resource(widgets).Namespace("shop").Delete(t.Context(), "w-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		servertest.Eventually(t, "the parts of one widget are gone", func() bool { return !strings.Contains(tr.state(t), "part-0-") })
		if err := client.Resource(definitions).Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		servertest.Eventually(t, "the definition is gone", func() bool {
			_, err := client.Resource(definitions).Get(t.Context(), "widgets.example.com", metav1.GetOptions{})
			return gone(t, err)
		})
		servertest.Eventually(t, "the parts of all widgets are gone", func() bool { return !strings.Contains(tr.state(t), "part-") })
		for i := range 10 {
			if err := c.CoreV1().ConfigMaps("shop").Delete(t.Context(), fmt.Sprintf("shared-%d", i), metav1.DeleteOptions{}); err != nil {
				t.Errorf("what had another owner: %v", err)
			}
		}
	}
	stop()
	if err := writers.Wait(); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if n := int64(strings.Count(tr.state(t), "other-")); n < written.Load() {
		t.Errorf("%d of %d objects are left that belong to nobody who went", n, written.Load())
	}
}

// What belonged to an object of a kind goes, even if the kind was gone before
// it could be deleted.
func TestGarbageOfKindsThatWent(t *testing.T) {
	t.Parallel()
	c := newClusterLedBy(t, "test")
	var held atomic.Bool
	var looks atomic.Int64
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(request *http.Request) (*http.Response, error) {
			if held.Load() && request.Method == http.MethodDelete && strings.Contains(request.URL.Path, "/configmaps/part") {
				return nil, errors.New("held by the test")
			}
			response, err := next.RoundTrip(request)
			if request.URL.Path == "/apis" {
				looks.Add(1)
			}
			return response, err
		})
	})
	start(t, lifecycle.Config{Client: config, Identity: "test"})
	tr := newTree(t, c, "shop")
	client := c.defineWidgets(t)
	ofWidgets := client.Resource(widgets).Namespace("shop")
	plant := func(name string) {
		t.Helper()
		owner, err := ofWidgets.Create(t.Context(), widget(name), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tr.plantWith(t, metav1.ObjectMeta{Name: "part-of-" + name, OwnerReferences: []metav1.OwnerReference{ownedBy(owner)}})
	}
	plant("first")
	plant("second")
	if err := ofWidgets.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	tr.wait(t, "part-of-second<second")

	held.Store(true)
	if err := client.Resource(definitions).Delete(t.Context(), "widgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the definition is gone", func() bool {
		_, err := client.Resource(definitions).Get(t.Context(), "widgets.example.com", metav1.GetOptions{})
		return gone(t, err)
	})
	before := looks.Load()
	servertest.Eventually(t, "the collector knows that the kind is gone", func() bool { return looks.Load() >= before+2 })
	held.Store(false)
	tr.wait(t, "")
}
