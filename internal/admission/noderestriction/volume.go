package noderestriction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
)

// judgeCSINodeWrite allows a node to write the CSINode of its own name.
func judgeCSINodeWrite(node string, a admission.Attributes) string {
	if node == "" || a.GetName() != node {
		return fmt.Sprintf("node %q can only access the CSINode with the same name", node)
	}
	return ""
}

// judgeClaimWrite allows a node to report the expansion of a volume in the status of a claim,
// and nothing else.
func judgeClaimWrite(node string, a admission.Attributes) string {
	updated, isNew := a.GetObject().(*corev1.PersistentVolumeClaim)
	old, isOld := a.GetOldObject().(*corev1.PersistentVolumeClaim)
	if a.GetOperation() != admission.Update || a.GetSubresource() != "status" || !isNew || !isOld {
		return fmt.Sprintf("node %q may only update PVC status", node)
	}
	updated, old = updated.DeepCopy(), old.DeepCopy()
	for _, claim := range []*corev1.PersistentVolumeClaim{updated, old} {
		// An update may omit the resourceVersion.
		claim.ResourceVersion, claim.ManagedFields = "", nil
		claim.Status.Capacity, claim.Status.Conditions = nil, nil
		claim.Status.AllocatedResources, claim.Status.AllocatedResourceStatuses = nil, nil
	}
	if node == "" || !apiequality.Semantic.DeepEqual(updated, old) {
		return fmt.Sprintf("node %q is not allowed to update fields other than the capacity and the conditions of a claim", node)
	}
	return ""
}

// judgeSliceWrite allows a node to create and delete slices of its own devices. The authorizer
// judges updates.
func judgeSliceWrite(node string, a admission.Attributes) string {
	obj, verb := a.GetObject(), "create"
	switch a.GetOperation() {
	case admission.Create:
	case admission.Delete:
		obj, verb = a.GetOldObject(), "delete"
	default:
		return ""
	}
	slice, ok := obj.(*resourcev1.ResourceSlice)
	if !ok || node == "" || slice.Spec.NodeName == nil || *slice.Spec.NodeName != node {
		return fmt.Sprintf("can only %s ResourceSlice with the same NodeName as the requesting node", verb)
	}
	return ""
}
