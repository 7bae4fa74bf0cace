package quota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	volumehelpers "k8s.io/component-helpers/storage/volume"
)

// ofClass is the part of a resource name between the storage class and the resource.
const ofClass = ".storageclass.storage.k8s.io/"

var (
	claimCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("persistentvolumeclaims"))

	// claimNames are the resource names under which claims have usage. Each also exists
	// for every storage class, with the prefix CLASS.storageclass.storage.k8s.io/.
	claimNames = []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
)

func newClaimEvaluator() *evaluator {
	return &evaluator{
		resource: corev1.Resource("persistentvolumeclaims"),
		// An update of the spec can request more storage. An update of the status can set
		// the allocated storage.
		handles: func(a admission.Attributes) bool {
			switch a.GetSubresource() {
			case "":
				return a.GetOperation() == admission.Create || a.GetOperation() == admission.Update
			case "status":
				return a.GetOperation() == admission.Update
			default:
				return false
			}
		},
		limitedBy: func(name corev1.ResourceName) bool {
			_, limited, _ := strings.Cut(string(name), ofClass)
			return name == claimCount || slices.Contains(claimNames, name) ||
				slices.Contains(claimNames, corev1.ResourceName(limited))
		},
		usage: func(obj runtime.Object) (corev1.ResourceList, error) {
			claim, err := as[*corev1.PersistentVolumeClaim](obj)
			if err != nil {
				return nil, err
			}
			return claimUsage(claim), nil
		},
		inScope: claimInScope,
	}
}

func claimUsage(claim *corev1.PersistentVolumeClaim) corev1.ResourceList {
	usage := corev1.ResourceList{claimCount: number(1), corev1.ResourcePersistentVolumeClaims: number(1)}
	if storage, ok := storageOf(claim); ok {
		usage[corev1.ResourceRequestsStorage] = storage
	}
	if class := volumehelpers.GetPersistentVolumeClaimClass(claim); class != "" {
		for _, name := range claimNames {
			if quantity, ok := usage[name]; ok {
				usage[corev1.ResourceName(class+ofClass)+name] = quantity
			}
		}
	}
	return usage
}

// storageOf returns the storage that a claim requests, or the allocated storage if that
// is larger, rounded up to bytes. It returns false if the claim requests none.
func storageOf(claim *corev1.PersistentVolumeClaim) (resource.Quantity, bool) {
	storage, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return storage, false
	}
	storage = storage.DeepCopy()
	if allocated, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok && allocated.Cmp(storage) > 0 {
		storage = allocated.DeepCopy()
	}
	storage.RoundUp(0)
	return storage, true
}

// claimInScope reports whether a claim is in a scope. VolumeAttributesClass is the only scope
// for claims.
func claimInScope(obj runtime.Object, scope requirement) (bool, error) {
	claim, err := as[*corev1.PersistentVolumeClaim](obj)
	if err != nil || scope.ScopeName != corev1.ResourceQuotaScopeVolumeAttributesClass {
		return false, err
	}
	var classes []string
	for _, class := range []*string{claim.Spec.VolumeAttributesClassName, claim.Status.CurrentVolumeAttributesClassName} {
		if class != nil && *class != "" {
			classes = append(classes, *class)
		}
	}
	if modify := claim.Status.ModifyVolumeStatus; modify != nil && modify.TargetVolumeAttributesClassName != "" {
		classes = append(classes, modify.TargetVolumeAttributesClassName)
	}
	return satisfies(scope, classes...), nil
}
