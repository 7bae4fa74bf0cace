package columns

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var nodeInfo = corev1.NodeSystemInfo{}.SwaggerDoc()

var nodes = table(name,
	text("Status", "Whether the node is ready and takes pods", nodeStatus),
	text("Roles", "What the node is for, from its labels", nodeRoles),
	age,
	text("Version", nodeInfo["kubeletVersion"], func(n *corev1.Node) string { return n.Status.NodeInfo.KubeletVersion }),
	nodeAddress("Internal-IP", corev1.NodeInternalIP).wide(),
	nodeAddress("External-IP", corev1.NodeExternalIP).wide(),
	text("OS-Image", nodeInfo["osImage"], func(n *corev1.Node) string {
		return stringOr(n.Status.NodeInfo.OSImage, unknown)
	}).wide(),
	text("Kernel-Version", nodeInfo["kernelVersion"], func(n *corev1.Node) string {
		version := stringOr(n.Status.NodeInfo.KernelVersion, unknown)
		if architecture := n.Status.NodeInfo.Architecture; architecture != "" {
			version += " (" + architecture + ")"
		}
		return version
	}).wide(),
	text("Container-Runtime", nodeInfo["containerRuntimeVersion"], func(n *corev1.Node) string {
		return stringOr(n.Status.NodeInfo.ContainerRuntimeVersion, unknown)
	}).wide())

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			status = "Ready"
		default:
			status = "NotReady"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// nodeRoles returns the roles of a node. They are in labels node-role.kubernetes.io/ROLE, or in the older form
// kubernetes.io/role=ROLE.
func nodeRoles(n *corev1.Node) string {
	var roles []string
	for label, value := range n.Labels {
		role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/")
		if !ok && label == "kubernetes.io/role" {
			role, ok = value, true
		}
		if ok && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return stringOr(strings.Join(slices.Compact(roles), ","), none)
}

func nodeAddress(header string, kind corev1.NodeAddressType) column {
	return text(header, corev1.NodeStatus{}.SwaggerDoc()["addresses"], func(n *corev1.Node) string {
		for _, address := range n.Status.Addresses {
			if address.Type == kind {
				return address.Address
			}
		}
		return none
	})
}
