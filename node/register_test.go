package node_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// TestRegister checks that an agent creates its Node and its Lease.
func TestRegister(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	a := c.startAgent(t, node.Config{Name: "n1", Version: "test"})
	servertest.Eventually(t, "the node is ready and has its lease", func() bool {
		obj, err := c.admin.CoreV1().Nodes().Get(t.Context(), a.name, metav1.GetOptions{})
		if err != nil || len(obj.Status.Conditions) == 0 {
			return false
		}
		lease, err := c.admin.CoordinationV1().Leases("kube-node-lease").Get(t.Context(), a.name, metav1.GetOptions{})
		return err == nil && *lease.Spec.HolderIdentity == a.name && *lease.Spec.LeaseDurationSeconds == 40 &&
			obj.Status.Conditions[0].Status == "True" && strings.HasSuffix(obj.Status.NodeInfo.KubeletVersion, "test")
	})
}
