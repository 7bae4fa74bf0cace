package lifecycle_test

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

// newPod returns a pod on a node, with a grace period in seconds.
func newPod(name, node string, grace int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
		},
	}
}

func (c cluster) createPod(t testing.TB, namespace string, pod *corev1.Pod) {
	t.Helper()
	servertest.AwaitAccount(t, c, namespace)
	if _, err := c.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createNode creates a node with a Lease that was renewed at the given time.
func (c cluster) createNode(t testing.TB, name string, renewed time.Time) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.createNodeLease(t, name, renewed)
}

func (c cluster) createNodeLease(t testing.TB, node string, renewed time.Time) {
	t.Helper()
	renewTime := metav1.NewMicroTime(renewed)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &node, RenewTime: &renewTime},
	}
	// A server that could not create this namespace in its start tries again while it serves.
	waittest.Until(t, "the lease of the node is created", func() bool {
		_, err := c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), lease, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestPodDeletionIsFinished checks that the controllers finish the deletion of a pod if its
// node does not. TestPodDeletionTime checks when they do it.
func TestPodDeletionIsFinished(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	// The names of the tests are names of pods and nodes, too.
	tests := map[string]func(t *testing.T, node string){
		"no-node": func(*testing.T, string) {},
		"no-lease": func(t *testing.T, node string) {
			object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
			if _, err := c.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		},
		"lease-without-node": func(t *testing.T, node string) { c.createNodeLease(t, node, time.Now()) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepare(t, name)
			pods := c.CoreV1().Pods(metav1.NamespaceDefault)
			c.createPod(t, metav1.NamespaceDefault, newPod(name, name, 1))
			events, err := pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
			if err != nil {
				t.Fatal(err)
			}
			defer events.Stop()
			if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			waittest.Until(t, "pod gone", func() bool {
				_, err := pods.Get(t.Context(), name, metav1.GetOptions{})
				return notFound(t, err)
			})
			// Before the pod was removed, it was marked for deletion with a grace period.
			event := <-events.ResultChan()
			for event.Type == watch.Added {
				event = <-events.ResultChan()
			}
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || event.Type != watch.Modified || pod.DeletionTimestamp == nil {
				t.Errorf("the pod was removed without a grace period: %s %v", event.Type, event.Object)
			}
		})
	}
}

// TestPodDeletionTime runs the controller of pods with a fake clock. A pod with a grace
// period of one second is deleted when the grace period is over and its node is
// unreachable, and not earlier. The time in the Lease does not matter, because the clocks of
// server and node may differ.
func TestPodDeletionTime(t *testing.T) {
	t.Parallel()
	const timeout = lifecycle.NodeTimeout
	tests := map[string]deletion{
		"neither node nor Lease": {want: time.Second},
		"node without Lease":     {hasNode: true, want: time.Second},
		"Lease without node":     {renewed: new(time.Duration), want: time.Second},
		"a node that is away":    {hasNode: true, renewed: ptr.To(-time.Second), want: timeout},
		"its clock is behind":    {hasNode: true, renewed: ptr.To(-3 * time.Hour), want: timeout},
		"its clock is ahead":     {hasNode: true, renewed: ptr.To(3 * time.Hour), want: timeout},
		// The controller looks at the Lease at the beginning, and after the timeout.
		"it renews once, by a clock that is behind": {
			hasNode: true, renewed: ptr.To(-3 * time.Hour), renewals: 1, want: 2 * timeout,
		},
		"the server did not finish the deletion":    {interrupted: true, hasNode: true, want: lifecycle.Quarantine},
		"the clock was set back since the deletion": {ahead: 3 * time.Hour, want: time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, test.check)
		})
	}
}

// deletion is the deletion of a pod on a node.
type deletion struct {
	hasNode bool
	// interrupted says that the pod is deleted without a grace period.
	interrupted bool
	// renewed is the time in the Lease of the node, from now. If it is nil, the node has no Lease.
	renewed *time.Duration
	// renewals is how often the node renews its Lease, ten seconds after another.
	renewals int
	// ahead is by how much the clock of the server was ahead when the pod was deleted.
	ahead, want time.Duration
}

// check reconciles the pod until the controller is done.
func (d deletion) check(t *testing.T) {
	start := time.Now()
	grace, deleted := int64(1), metav1.NewTime(start.Add(d.ahead+time.Second))
	if d.interrupted {
		grace = 0
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "pod", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace,
		},
		Spec: corev1.PodSpec{NodeName: "node"},
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	if err := store.Add(pod); err != nil {
		t.Fatal(err)
	}
	typed := fake.NewClientset(pod)
	d.keepLease(t, typed)
	reconcile := lifecycle.NewPodReconciler(typed, d.nodes(t), store, cache.NewStore(cache.MetaNamespaceKeyFunc))
	for {
		wait, err := reconcile(t.Context(), cache.MetaObjectToName(pod))
		if err != nil {
			t.Fatal(err)
		}
		if wait == 0 {
			break
		}
		if n := countDeletions(typed); n > 0 {
			t.Fatalf("%d deletions after %s, before the controller is done", n, time.Since(start))
		}
		time.Sleep(wait)
	}
	if n := countDeletions(typed); n != 1 {
		t.Errorf("%d deletions, want 1", n)
	}
	if got := time.Since(start); got != d.want {
		t.Errorf("deleted after %s, want %s", got, d.want)
	}
}

// keepLease creates the Lease of the node, and renews it in the background.
func (d deletion) keepLease(t *testing.T, typed kubernetes.Interface) {
	t.Helper()
	if d.renewed == nil {
		return
	}
	leases := typed.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(*d.renewed)))
	if _, err := leases.Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range d.renewals {
			time.Sleep(10 * time.Second)
			renewed := lease.DeepCopy()
			renewed.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(*d.renewed)))
			if _, err := leases.Update(t.Context(), renewed, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
	}()
}

// nodes returns a client of the metadata of nodes.
func (d deletion) nodes(t *testing.T) metadata.Getter {
	t.Helper()
	var nodes []runtime.Object
	if d.hasNode {
		nodes = append(nodes, &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node"},
		})
	}
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return metadatafake.NewSimpleMetadataClient(scheme, nodes...).Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
}

// countDeletions returns the number of delete requests that the client has sent.
func countDeletions(client *fake.Clientset) int {
	n := 0
	for _, action := range client.Actions() {
		if action.Matches("delete", "pods") {
			n++
		}
	}
	return n
}

// TestPodWaitsForFinalizers checks that a pod without a node is removed only after its
// finalizers.
func TestPodWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	c := startWithControllers(t)
	pods := c.CoreV1().Pods(metav1.NamespaceDefault)
	held := newPod("held", "missing", 1)
	held.Finalizers = []string{"example.com/hold"}
	c.createPod(t, metav1.NamespaceDefault, held)
	if err := pods.Delete(t.Context(), "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the grace period is zero", func() bool {
		pod, err := pods.Get(t.Context(), "held", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return *pod.DeletionGracePeriodSeconds == 0
	})
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := pods.Patch(t.Context(), "held", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "pod gone", func() bool {
		_, err := pods.Get(t.Context(), "held", metav1.GetOptions{})
		return notFound(t, err)
	})
}
