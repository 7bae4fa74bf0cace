package noderestriction

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	accessnode "holdfast.dev/holdfast/internal/access/node"
)

// judgePodWrite allows a node to update the status of a pod, to delete and to evict it, if the
// stored pod is bound to the node. It also allows the node to create mirror pods.
func (p *Plugin) judgePodWrite(ctx context.Context, node string, a admission.Attributes) (string, error) {
	oldPod, _ := a.GetOldObject().(*corev1.Pod)
	switch {
	case a.GetOperation() == admission.Create && a.GetSubresource() == "":
		return p.judgeMirror(ctx, node, a)
	case a.GetOperation() == admission.Create && a.GetSubresource() == "eviction":
		found, err := p.Client.Pods(a.GetNamespace()).Get(ctx, a.GetName(), metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		oldPod = found
	case a.GetOperation() == admission.Update && a.GetSubresource() == "status":
	case a.GetOperation() == admission.Delete && a.GetSubresource() == "":
	default:
		return fmt.Sprintf("node %q may only write the status of pods, create mirror pods, and delete and evict pods", node), nil
	}
	if oldPod == nil || node == "" || oldPod.Spec.NodeName != node {
		return fmt.Sprintf("node %q can only write pods with spec.nodeName set to itself", node), nil
	}
	if a.GetOperation() != admission.Update {
		return "", nil
	}
	newPod, ok := a.GetObject().(*corev1.Pod)
	if !ok || !sameMeta(newPod, oldPod) {
		return fmt.Sprintf("node %q may not change the metadata of a pod", node), nil
	}
	if !apiequality.Semantic.DeepEqual(newPod.Status.ResourceClaimStatuses, oldPod.Status.ResourceClaimStatuses) ||
		!apiequality.Semantic.DeepEqual(newPod.Status.ExtendedResourceClaimStatus, oldPod.Status.ExtendedResourceClaimStatus) {
		return fmt.Sprintf("node %q cannot update resource claim statuses", node), nil
	}
	return "", nil
}

// judgeMirror allows a node to create a mirror pod: the copy of a pod that the kubelet runs
// from a file. Its owner is the Node, and it uses no objects of the API: otherwise the node
// could read any object by creating a pod that names it.
func (p *Plugin) judgeMirror(ctx context.Context, node string, a admission.Attributes) (string, error) {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return fmt.Sprintf("node %q can only create mirror pods", node), nil
	}
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; !isMirror {
		return fmt.Sprintf("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node), nil
	}
	if node == "" || pod.Spec.NodeName != node {
		return fmt.Sprintf("node %q can only create pods with spec.nodeName set to itself", node), nil
	}
	if used := apiObject(pod); used != "" {
		return fmt.Sprintf("node %q can not create pods that reference %s", node, used), nil
	}
	return p.judgeOwner(ctx, node, pod.OwnerReferences)
}

// judgeOwner checks that the only owner of a mirror pod is the Node, as its controller.
func (p *Plugin) judgeOwner(ctx context.Context, node string, owners []metav1.OwnerReference) (string, error) {
	if len(owners) != 1 || owners[0].APIVersion != "v1" || owners[0].Kind != "Node" || owners[0].Name != node {
		return fmt.Sprintf("node %q can only create pods with a single owner reference set to itself", node), nil
	}
	owner := owners[0]
	if owner.Controller == nil || !*owner.Controller {
		return fmt.Sprintf("node %q can only create pods with a controller owner reference set to itself", node), nil
	}
	if owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion {
		return fmt.Sprintf("node %q must not set blockOwnerDeletion on an owner reference", node), nil
	}
	found, err := p.Client.Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && found.UID != owner.UID {
		return fmt.Sprintf("node %q has another UID than the owner reference", node), nil
	}
	return "", err
}

// apiObject names a kind of objects of the API that a pod uses, or "".
func apiObject(pod *corev1.Pod) string {
	if pod.Spec.ServiceAccountName != "" {
		return "serviceaccounts"
	}
	if references := accessnode.References(pod); len(references) > 0 {
		return references[0].Resource
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		return "resourceclaims"
	}
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.PersistentVolumeClaim != nil, volume.Ephemeral != nil:
			return "persistentvolumeclaims"
		case volume.CSI != nil:
			return "csidrivers"
		case volume.Glusterfs != nil:
			return "endpoints"
		case volume.Projected == nil:
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.DownwardAPI == nil {
				return "objects in a projected volume"
			}
		}
	}
	return ""
}
