package lifecycle_test

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/apiserver/servertest"
)

// nodeSilence is how long a node may be silent.
const nodeSilence = 40 * time.Second

// createPod makes a pod with a grace period of one second.
func (c cluster) createPod(t testing.TB, namespace, name, node string, finalizers ...string) {
	t.Helper()
	grace := int64(1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}},
		},
	}
	if _, err := c.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createNode makes a node whose Lease was renewed at a time.
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
	if _, err := c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestPodIsFinished(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	now := time.Now()
	// The Lease of this node gets too old three seconds from now.
	silentSoon := now.Add(3*time.Second - nodeSilence)
	tests := map[string]struct {
		prepare func(t *testing.T, node string)
		// after is the earliest time at which the pod may go, if it is later than
		// the end of its grace period.
		after time.Time
	}{
		"no-node": {
			prepare: func(*testing.T, string) {},
		},
		"no-lease": {
			prepare: func(t *testing.T, node string) {
				object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
				if _, err := c.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"lease-without-node": {
			prepare: func(t *testing.T, node string) { c.createNodeLease(t, node, now) },
		},
		"silent-node": {
			prepare: func(t *testing.T, node string) { c.createNode(t, node, now.Add(-2*nodeSilence)) },
		},
		"node-falls-silent": {
			prepare: func(t *testing.T, node string) { c.createNode(t, node, silentSoon) },
			after:   silentSoon.Add(nodeSilence),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.prepare(t, name)
			pods := c.CoreV1().Pods(metav1.NamespaceDefault)
			c.createPod(t, metav1.NamespaceDefault, name, name)
			if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatalf("a pod goes before its grace period ends: %v", err)
			}
			earliest := pod.DeletionTimestamp.Time
			if test.after.After(earliest) {
				earliest = test.after
			}
			servertest.Eventually(t, "pod gone", func() bool {
				_, err := pods.Get(t.Context(), name, metav1.GetOptions{})
				return gone(t, err)
			})
			if early := time.Until(earliest); early > 0 {
				t.Errorf("the pod went %s too early", early)
			}
		})
	}
}

func TestPodWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pods := c.CoreV1().Pods(metav1.NamespaceDefault)
	c.createPod(t, metav1.NamespaceDefault, "held", "missing", "example.com/hold")
	if err := pods.Delete(t.Context(), "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "grace period taken away", func() bool {
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
	servertest.Eventually(t, "pod gone", func() bool {
		_, err := pods.Get(t.Context(), "held", metav1.GetOptions{})
		return gone(t, err)
	})
}
