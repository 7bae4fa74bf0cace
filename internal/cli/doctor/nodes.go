package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// leaseSeconds is how long the Lease of a node is valid if it does not say so. Agents and kubelets renew it every ten seconds.
	leaseSeconds = 40
	examineNode  = "on the host: systemctl status holdfast-node, and holdfast doctor --root /run/holdfast"
)

// nodes checks that the agents and kubelets of all nodes report.
func (s *server) nodes(ctx context.Context) []check {
	nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return []check{unread("nodes", err)}
	}
	leases, err := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	if err != nil {
		return []check{unread("nodes", err)}
	}
	return reporting(nodes.Items, leases.Items, time.Now())
}

// reporting judges which nodes report. A process that is stopped cannot set its Node to not ready, but its Lease becomes old. A
// node without a Lease is one that nothing reports for, such as a Node that a user created. A Lease without a Node that is still renewed
// is that of an agent or a kubelet whose Node was deleted.
func reporting(nodes []corev1.Node, leases []coordinationv1.Lease, now time.Time) []check {
	specs := map[string]coordinationv1.LeaseSpec{}
	for i := range leases {
		if leases[i].Spec.RenewTime != nil {
			specs[leases[i].Name] = leases[i].Spec
		}
	}
	var lost, silent, ahead, without []string
	for i := range nodes {
		name := nodes[i].Name
		lease, hasLease := specs[name]
		delete(specs, name)
		switch {
		case !isReady(&nodes[i]):
			lost = append(lost, name)
		case !hasLease:
		case ended(lease, now):
			silent = append(silent, name)
		case lease.RenewTime.After(now.Add(maxSkew)):
			ahead = append(ahead, name)
		}
	}
	for name, lease := range specs {
		if !ended(lease, now) {
			without = append(without, name)
		}
	}
	slices.Sort(without)
	var found []check
	add := func(names []string, message, next string) {
		if len(names) > 0 {
			found = append(found, check{"nodes", warning, fmt.Sprintf("%d of %d %s: %s", len(names), len(nodes), message, some(names)), next})
		}
	}
	add(lost, "are not ready", examineNode)
	add(silent, "have not renewed their Lease in time", examineNode+"; if the agent runs, compare the clocks")
	add(ahead, "have renewed their Lease in the future", "compare the clocks of the nodes and of this machine, and set them, for example with NTP")
	if len(without) > 0 {
		found = append(found, check{
			"nodes", warning, fmt.Sprintf("the Node does not exist, and its agent or kubelet runs: %s", some(without)),
			"wait a minute, in which an agent creates its Node again; then " + examineNode,
		})
	}
	return orGood("nodes", fmt.Sprintf("%d, all ready", len(nodes)), found)
}

// ended reports whether a Lease was not renewed in time.
func ended(lease coordinationv1.LeaseSpec, now time.Time) bool {
	return lease.RenewTime.Add(seconds(ptr.Deref(lease.LeaseDurationSeconds, leaseSeconds))).Before(now)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// isReady reports whether a node is ready, or says nothing about it.
func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			return false
		}
	}
	return true
}

// some returns the first names of a list.
func some(names []string) string {
	const shown = 5
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
