package lifecycle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestOrphansAreDeleted checks that a pod on a node that does not exist fails and is deleted, also if
// the node is deleted later, and that a pod on another node and a pod without a node stay.
func TestOrphansAreDeleted(t *testing.T) {
	t.Parallel()
	c := startWithout(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "orphans"}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := c.CoreV1().ServiceAccounts("orphans").Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stays", "goes"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods := c.CoreV1().Pods("orphans")
	events, err := pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for name, node := range map[string]string{"nowhere": "missing", "on-goes": "goes", "on-stays": "stays", "unbound": ""} {
		c.createPod(t, "orphans", newPod(name, node, 30))
	}
	startLeading(t, lifecycle.Config{
		Client: c.Config, Controllers: lifecycle.Selection{lifecycle.PodsOfLostNodes}, OrphanQuarantine: time.Millisecond,
	})
	gone := func(name string) {
		t.Helper()
		waittest.Until(t, "pod "+name+" gone", func() bool {
			_, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			return notFound(t, err)
		})
	}
	gone("nowhere")
	last := &corev1.Pod{}
	for event := range events.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			last = pod
		}
		if event.Type == watch.Deleted {
			break
		}
	}
	conditions := last.Status.Conditions
	if last.Status.Phase != corev1.PodFailed || len(conditions) == 0 || conditions[len(conditions)-1].Reason != "DeletionByPodGC" {
		t.Errorf("the last status of the pod is %+v", last.Status)
	}
	if err := c.CoreV1().Nodes().Delete(t.Context(), "goes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone("on-goes")
	for _, name := range []string{"on-stays", "unbound"} {
		if pod, err := pods.Get(t.Context(), name, metav1.GetOptions{}); err != nil || pod.DeletionTimestamp != nil {
			t.Errorf("%s: %v, %v", name, pod, err)
		}
	}
}

// TestOrphanTime runs the controller with a fake clock: it deletes an orphan after the quarantine, which is
// less than 100 seconds, and not if its node was created meanwhile. If the informer has not seen a node that
// exists, it looks again: no event may ever show the node.
func TestOrphanTime(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		// seen says that the informer of nodes has the node, hasNode that the API has it.
		seen, hasNode bool
		// seenAfter is when the informer sees the node, and goneAfter when the API loses it. Zero is never.
		seenAfter, goneAfter time.Duration
		want                 time.Duration
		deletions            int
	}{
		"no node":                     {want: lifecycle.Quarantine, deletions: 1},
		"a node":                      {seen: true, hasNode: true},
		"the node was created lately": {hasNode: true, seenAfter: lifecycle.Quarantine + time.Second, want: 2 * lifecycle.Quarantine},
		"no event showed the node": {
			hasNode: true, goneAfter: lifecycle.Quarantine + time.Second, want: 3 * lifecycle.Quarantine, deletions: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pod", UID: "1"}, Spec: corev1.PodSpec{NodeName: "node"},
				}
				store, existing := cache.NewStore(cache.MetaNamespaceKeyFunc), cache.NewStore(cache.MetaNamespaceKeyFunc)
				if err := store.Add(pod); err != nil {
					t.Fatal(err)
				}
				see := func() {
					if err := existing.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}); err != nil {
						t.Fatal(err)
					}
				}
				if test.seen {
					see()
				}
				typed, begun := fake.NewClientset(pod), time.Now()
				nodes := deletion{hasNode: test.hasNode}.nodes(t)
				if test.goneAfter > 0 {
					nodes = passingNode{nodes, deletion{}.nodes(t), begun.Add(test.goneAfter)}
				}
				reconcile := lifecycle.NewPodReconciler(typed, nodes, store, existing)
				for {
					if test.seenAfter > 0 && time.Since(begun) >= test.seenAfter {
						see()
					}
					wait, err := reconcile(t.Context(), cache.MetaObjectToName(pod))
					if err != nil {
						t.Fatal(err)
					}
					if wait == 0 {
						break
					}
					time.Sleep(wait)
				}
				if n := countDeletions(typed); n != test.deletions {
					t.Errorf("%d deletions, want %d", n, test.deletions)
				}
				if got := time.Since(begun); got != test.want || !test.hasNode && got > 100*time.Second {
					t.Errorf("done after %s, want %s", got, test.want)
				}
			})
		})
	}
}

// passingNode is a node that exists until a time.
type passingNode struct {
	metadata.Getter
	without metadata.Getter
	until   time.Time
}

// Get implements metadata.ResourceInterface.
func (n passingNode) Get(
	ctx context.Context, name string, options metav1.GetOptions, subresources ...string,
) (*metav1.PartialObjectMetadata, error) {
	if time.Now().Before(n.until) {
		return n.Getter.Get(ctx, name, options, subresources...)
	}
	return n.without.Get(ctx, name, options, subresources...)
}
