package noderestriction

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// restriction is the domain of the labels that a node may not set on itself.
const restriction = "node-restriction.kubernetes.io"

// ownLabels are the labels in the domains of Kubernetes that a node may set on
// itself. It may not set others in these domains, except below kubelet.kubernetes.io
// and node.kubernetes.io.
var ownLabels = []string{
	corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable, corev1.LabelInstanceTypeStable, corev1.LabelWindowsBuild,
	corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelInstanceType,
	"beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// judgeNodeWrite allows a node to create and update its own Node object, but not to
// set protected labels and owner references, and not to change its taints. As in
// Kubernetes, a node may create its Node with taints.
func judgeNodeWrite(node string, a admission.Attributes) string {
	if a.GetSubresource() != "" && a.GetSubresource() != "status" {
		return fmt.Sprintf("node %q may not use the subresource %s of nodes", node, a.GetSubresource())
	}
	if node == "" || a.GetName() != node {
		return fmt.Sprintf("node %q is not allowed to modify node %q", node, a.GetName())
	}
	newNode, ok := a.GetObject().(*corev1.Node)
	if !ok {
		return ""
	}
	oldNode, ok := a.GetOldObject().(*corev1.Node)
	if !ok {
		oldNode = &corev1.Node{}
	}
	if refusal := judgeLabels(node, newNode.Labels, oldNode.Labels); refusal != "" {
		return refusal
	}
	// The registry ignores the spec in an update of the status, so do not compare the
	// taints there: the client may have left them out.
	isUpdate := a.GetOperation() == admission.Update && a.GetSubresource() == ""
	if isUpdate && !apiequality.Semantic.DeepEqual(newNode.Spec.Taints, oldNode.Spec.Taints) {
		return fmt.Sprintf("node %q is not allowed to modify taints", node)
	}
	return judgeOwners(node, newNode.OwnerReferences, oldNode.OwnerReferences)
}

func judgeOwners(node string, after, before []metav1.OwnerReference) string {
	if apiequality.Semantic.DeepEqual(after, before) {
		return ""
	}
	return fmt.Sprintf("node %q is not allowed to modify owner references", node)
}

// judgeLabels refuses changes to protected labels and lists them.
func judgeLabels(node string, after, before map[string]string) string {
	var forbidden []string
	for _, labels := range []map[string]string{after, before} {
		for key := range labels {
			oldValue, had := before[key]
			newValue, has := after[key]
			if (had != has || oldValue != newValue) && protected(key) && !slices.Contains(forbidden, key) {
				forbidden = append(forbidden, key)
			}
		}
	}
	if len(forbidden) == 0 {
		return ""
	}
	slices.Sort(forbidden)
	return fmt.Sprintf("node %q is not allowed to modify labels: %s", node, strings.Join(forbidden, ", "))
}

// protected reports whether a node may not set the label on itself.
func protected(label string) bool {
	domain, _, found := strings.Cut(label, "/")
	switch {
	case !found || slices.Contains(ownLabels, label):
		return false
	case within(domain, restriction):
		return true
	case within(domain, "kubelet.kubernetes.io"), within(domain, "node.kubernetes.io"):
		return false
	}
	return within(domain, "kubernetes.io") || within(domain, "k8s.io")
}

// within reports whether domain is parent or a subdomain of it.
func within(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

// sameMeta compares the metadata that clients set. The server sets the other fields.
func sameMeta(newObj, oldObj metav1.Object) bool {
	return newObj.GetName() == oldObj.GetName() && newObj.GetNamespace() == oldObj.GetNamespace() &&
		newObj.GetGenerateName() == oldObj.GetGenerateName() &&
		apiequality.Semantic.DeepEqual(newObj.GetLabels(), oldObj.GetLabels()) &&
		apiequality.Semantic.DeepEqual(newObj.GetAnnotations(), oldObj.GetAnnotations()) &&
		apiequality.Semantic.DeepEqual(newObj.GetFinalizers(), oldObj.GetFinalizers()) &&
		apiequality.Semantic.DeepEqual(newObj.GetOwnerReferences(), oldObj.GetOwnerReferences())
}
