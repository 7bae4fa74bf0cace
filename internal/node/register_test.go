package node_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

const nodeLeases = "kube-node-lease"

// TestRegister checks that an agent creates its Node and its Lease.
func TestRegister(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1", Version: "test"})
	c.waitForLease(t, a.name, "holdfast-node/"+a.name)
	obj := c.getNode(t, a.name)
	if len(obj.Status.Conditions) == 0 || obj.Status.Conditions[0].Status != "True" || obj.Status.NodeInfo.KubeletVersion != "holdfast-test" {
		t.Errorf("status %+v", obj.Status)
	}
	if len(obj.Spec.Taints) != 1 || obj.Spec.Taints[0].ToString() != "node.holdfast.dev/agent:NoSchedule" {
		t.Errorf("taints %v", obj.Spec.Taints)
	}
}

func (c *cluster) getNode(t testing.TB, name string) *corev1.Node {
	t.Helper()
	obj, err := c.admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// registered waits until an agent has created its Node and its Lease. Without them, a controller of the server finishes
// the deletion of the pods of the node, at the same time as the agent.
func (c *cluster) registered(t testing.TB, a *agent) {
	t.Helper()
	c.waitForLease(t, a.name, "holdfast-node/"+a.name)
}

// waitForLease waits until the holder of the Lease of a node begins with this text, and returns the Lease.
func (c *cluster) waitForLease(t testing.TB, name, holder string) *coordinationv1.Lease {
	t.Helper()
	var lease *coordinationv1.Lease
	waittest.Until(t, "the lease of "+name+" is held by "+holder, func() bool {
		var err error
		lease, err = c.admin.CoordinationV1().Leases(nodeLeases).Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && strings.HasPrefix(*lease.Spec.HolderIdentity, holder) && *lease.Spec.LeaseDurationSeconds == 40
	})
	return lease
}

// setVersion sets the version in the status of a Node, as its kubelet does.
func (c *cluster) setVersion(t testing.TB, name, version string) {
	t.Helper()
	patch := []byte(`{"status":{"nodeInfo":{"kubeletVersion":"` + version + `"}}}`)
	_, err := c.admin.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
}

// TestBesideKubelet checks that an agent writes the volumes of a node that has a kubelet, but
// neither its Node nor its Lease, and that it leaves the deletion of pods to the kubelet.
func TestBesideKubelet(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	name := "n1" + c.suffix
	kubelet := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.admin.CoreV1().Nodes().Create(t.Context(), kubelet, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.setVersion(t, name, "v1.36.3")
	// Without a Lease the node counts as unreachable, and a controller finishes the deletion of its pods. It does so too
	// when the Lease was not renewed for a while.
	keepLease(t, c.admin, name)
	before := c.getNode(t, name)
	c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}`)
	a := c.startAgent(t, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	waittest.Until(t, "the agent has read its node", func() bool { return a.requests.count("GET", "/nodes/"+name) > 0 })
	c.deletePod(t, "web")
	// When the agent has handled this later change, it has seen the deletion.
	c.setData(t, "app", "two")
	a.waitForFile(c, t, "web", "conf/app.conf", "two")
	if after := c.getNode(t, name); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the node of the kubelet was written: %+v", after)
	}
	if deleted, renewed := a.requests.count("DELETE"), a.requests.count("/leases"); deleted+renewed != 0 {
		t.Errorf("%d deletions, %d requests for leases", deleted, renewed)
	}
}

// keepLease creates the Lease of a node, and renews it until the test ends, as a kubelet does.
func keepLease(t *testing.T, admin kubernetes.Interface, name string) {
	t.Helper()
	leases := admin.CoordinationV1().Leases(nodeLeases)
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: ptr.To[int32](40), RenewTime: ptr.To(metav1.NowMicro())},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var renewing sync.WaitGroup
	t.Cleanup(renewing.Wait)
	ctx := t.Context()
	renewing.Go(func() {
		for tick := time.Tick(10 * time.Second); ; {
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
			lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
			if renewed, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err == nil {
				lease = renewed
			}
		}
	})
}

// TestKubeletTakesOver checks that an agent stops writing its Node and its Lease when a kubelet
// begins to write them.
func TestKubeletTakesOver(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	clock := clocktesting.NewFakeClock(time.Now())
	a := c.startAgent(t, node.Config{Name: "n1", Clock: clock})
	lease := c.waitForLease(t, a.name, "holdfast-node/"+a.name)
	c.setVersion(t, a.name, "v1.36.3")
	lease.Spec.HolderIdentity = ptr.To(a.name)
	lease.Spec.RenewTime = &metav1.MicroTime{Time: clock.Now().Add(time.Hour)}
	lease, err := c.admin.CoordinationV1().Leases(nodeLeases).Update(t.Context(), lease, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := c.getNode(t, a.name)
	reads := a.requests.count("GET", "/nodes/"+a.name)
	waittest.Until(t, "the agent has read its node again", func() bool {
		clock.Step(time.Second)
		return a.requests.count("GET", "/nodes/"+a.name) > reads
	})
	for range 3 {
		reads = a.requests.count("GET", "/nodes/"+a.name)
		waittest.Until(t, "the agent has read its node once more", func() bool {
			clock.Step(time.Minute)
			return a.requests.count("GET", "/nodes/"+a.name) > reads
		})
	}
	if after := c.getNode(t, a.name); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the node of the kubelet was written: %+v", after)
	}
	after, err := c.admin.CoordinationV1().Leases(nodeLeases).Get(t.Context(), a.name, metav1.GetOptions{})
	if err != nil || after.ResourceVersion != lease.ResourceVersion {
		t.Errorf("the lease of the kubelet was written: %+v, %v", after, err)
	}
}
