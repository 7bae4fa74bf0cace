package fairness_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

// floodedWatches is the number of watches that one user opens. A connection has 100 streams.
const floodedWatches = 2000

// One user opens thousands of watches of a resource, and reads none of them. Another user watches the same resource, writes to it and
// sees each of its writes.
func TestWatchFlood(t *testing.T) {
	admin := kubernetes.NewForConfigOrDie(administrator)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "watchers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: "User", Name: "flood"}, {APIGroup: rbacv1.GroupName, Kind: "User", Name: "watcher"},
		},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watcher := kubernetes.NewForConfigOrDie(as("watcher")).CoreV1().ConfigMaps("default")
	waittest.Until(t, "the watcher may list", func() bool {
		_, err := watcher.List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	opened := floodWatches(t, as("flood"))
	waittest.Until(t, "the watches of the flood are open", func() bool { return opened.Load() == floodedWatches })

	seen, err := watcher.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	// Each event is sent to all watches, and fills the buffers of those that the user does not read.
	data := map[string]string{"text": strings.Repeat("x", 10<<10)}
	for range 30 {
		written, err := watcher.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "flooded-"}, Data: data}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !awaitName(seen, written.Name) {
			t.Fatal("the watch of the other user ended")
		}
	}
}

// awaitName waits for an event of an object. It returns false if the watch ends before.
func awaitName(seen watch.Interface, name string) bool {
	for event := range seen.ResultChan() {
		if object, ok := event.Object.(*corev1.ConfigMap); ok && object.Name == name {
			return true
		}
	}
	return false
}

// floodWatches opens watches that it does not read, on as many connections as they need. It repeats those that are refused, and
// counts those that are open.
func floodWatches(t *testing.T, config *rest.Config) *atomic.Int64 {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	opened := &atomic.Int64{}
	for range floodedWatches {
		watching.Go(func() {
			for ctx.Err() == nil {
				if stream := openWatch(ctx, t, client, config.Host); stream != nil {
					opened.Add(1)
					<-ctx.Done()
					_ = stream.Close()
				}
			}
		})
	}
	return opened
}

// openWatch opens a watch of all ConfigMaps. It returns nil if the watch is refused.
func openWatch(ctx context.Context, t *testing.T, client *http.Client, host string) io.Closer {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/api/v1/configmaps?watch=true", http.NoBody)
	if err != nil {
		t.Error(err)
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil // the test is over
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a watch is answered with %s", resp.Status)
	}
	return nil
}
