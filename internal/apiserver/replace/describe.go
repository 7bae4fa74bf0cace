package replace

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/replacement"
)

// Describe adds to an object what the rules of package replacement need to know about objects of some kinds. stored is the object in a version
// of the API, and pods returns the pods of a namespace.
func Describe(
	ctx context.Context, stored runtime.Object, pods func(ctx context.Context, namespace string) ([]corev1.Pod, error), object *replacement.Object,
) error {
	switch stored := stored.(type) {
	case *appsv1.StatefulSet:
		policy := stored.Spec.PersistentVolumeClaimRetentionPolicy
		object.DeletesClaims = policy != nil && policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	case *corev1.Pod:
		if stored.Status.Phase != corev1.PodSucceeded && stored.Status.Phase != corev1.PodFailed {
			object.Node = stored.Spec.NodeName
		}
	case *corev1.PersistentVolume:
		if claim := stored.Spec.ClaimRef; claim != nil && stored.Status.Phase == corev1.VolumeBound {
			object.UsedBy = "the claim " + claim.Namespace + "/" + claim.Name
		}
	case *corev1.PersistentVolumeClaim:
		found, err := pods(ctx, stored.Namespace)
		if err != nil {
			return err
		}
		for i := range found {
			if volume.Uses(&found[i], stored) {
				object.UsedBy = "the pod " + found[i].Name
				break
			}
		}
	}
	return nil
}
