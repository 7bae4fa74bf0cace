package node_test

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestDeletedNodeReturns checks that an agent creates its Node again within a minute of its deletion.
func TestDeletedNodeReturns(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	begin := time.Now()
	clock := clocktesting.NewFakeClock(begin)
	a := c.startAgent(t, node.Config{Name: "n1", Clock: clock})
	c.registered(t, a)
	before := c.getNode(t, a.name).UID
	if err := c.admin.CoreV1().Nodes().Delete(t.Context(), a.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the Lease is deleted with its Node", func() bool {
		_, err := c.admin.CoordinationV1().Leases(nodeLeases).Get(t.Context(), a.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	waittest.Until(t, "the Node exists again", func() bool {
		if clock.Since(begin) < 50*time.Second {
			clock.Step(time.Second)
		}
		found, err := c.admin.CoreV1().Nodes().Get(t.Context(), a.name, metav1.GetOptions{})
		return err == nil && found.UID != before
	})
	waittest.Until(t, "the Lease belongs to the new Node", func() bool {
		if clock.Since(begin) < 50*time.Second {
			clock.Step(time.Second)
		}
		lease, err := c.admin.CoordinationV1().Leases(nodeLeases).Get(t.Context(), a.name, metav1.GetOptions{})
		return err == nil && len(lease.OwnerReferences) == 1 && lease.OwnerReferences[0].UID == c.getNode(t, a.name).UID
	})
}

// TestTwoAgents checks that the second agent of a name ends, and that an agent which starts
// again with the same root does not. It uses the real clock: with another one, a slow request of the first agent could
// look like its end.
func TestTwoAgents(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	first := c.startAgent(t, node.Config{Name: "n1"})
	c.registered(t, first)
	first.stop(t)
	first = c.startAgent(t, node.Config{Name: "n1", Root: first.root})
	waittest.Until(t, "the first agent renews its Lease", func() bool { return first.requests.count("PUT", "/leases/") > 0 })
	second := c.startAgent(t, node.Config{Name: "n1"})
	var err error
	waittest.Until(t, "the second agent has ended", func() bool {
		select {
		case err = <-second.ended:
			second.cancel()
			second.cancel = nil
			return true
		default:
			return false
		}
	})
	if err == nil || !strings.Contains(err.Error(), "another agent of node "+second.name+" runs, with another root") {
		t.Errorf("the second agent ended with %v", err)
	}
	select {
	case err := <-first.ended:
		t.Errorf("the first agent ended with %v", err)
	default:
	}
}

// TestAgentTakesOver checks that an agent with another root renews the Lease after the first agent has ended.
func TestAgentTakesOver(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	clock := clocktesting.NewFakeClock(time.Now())
	first := c.startAgent(t, node.Config{Name: "n1", Clock: clock})
	c.registered(t, first)
	holder := *c.waitForLease(t, first.name, "holdfast-node/"+first.name+"/").Spec.HolderIdentity
	first.stop(t)
	second := c.startAgent(t, node.Config{Name: "n1", Clock: clock})
	waittest.Until(t, "the second agent holds the Lease", func() bool {
		clock.Step(200 * time.Millisecond)
		lease, err := c.admin.CoordinationV1().Leases(nodeLeases).Get(t.Context(), second.name, metav1.GetOptions{})
		return err == nil && *lease.Spec.HolderIdentity != holder
	})
}
