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

// ofClass comes between a storage class and what of it is limited.
const ofClass = ".storageclass.storage.k8s.io/"

var (
	claimCount = generic.ObjectCountQuotaResourceNameFor(corev1.Resource("persistentvolumeclaims"))

	// claimNames are the names under which claims count, in all and by class.
	claimNames = []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
)

func claims() *measure {
	return &measure{
		resource: corev1.Resource("persistentvolumeclaims"),
		// A claim can grow, and its status tells to what size it did.
		charged: func(a admission.Attributes) bool {
			switch a.GetSubresource() {
			case "":
				return a.GetOperation() == admission.Create || a.GetOperation() == admission.Update
			case "status":
				return a.GetOperation() == admission.Update
			default:
				return false
			}
		},
		names: func(name corev1.ResourceName) bool {
			_, limited, _ := strings.Cut(string(name), ofClass)
			return name == claimCount || slices.Contains(claimNames, name) ||
				slices.Contains(claimNames, corev1.ResourceName(limited))
		},
		use: func(obj runtime.Object) (corev1.ResourceList, error) {
			claim, err := as[*corev1.PersistentVolumeClaim](obj)
			if err != nil {
				return nil, err
			}
			return claimUse(claim), nil
		},
		within: claimWithin,
	}
}

func claimUse(claim *corev1.PersistentVolumeClaim) corev1.ResourceList {
	use := corev1.ResourceList{claimCount: number(1), corev1.ResourcePersistentVolumeClaims: number(1)}
	if storage, ok := storageOf(claim); ok {
		use[corev1.ResourceRequestsStorage] = storage
	}
	if class := volumehelpers.GetPersistentVolumeClaimClass(claim); class != "" {
		for _, name := range claimNames {
			if quantity, ok := use[name]; ok {
				use[corev1.ResourceName(class+ofClass)+name] = quantity
			}
		}
	}
	return use
}

// storageOf is the storage that a claim asks for, or has been given when it
// asked for more, in whole bytes.
func storageOf(claim *corev1.PersistentVolumeClaim) (resource.Quantity, bool) {
	storage, ok := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return storage, false
	}
	storage = storage.DeepCopy()
	if given, ok := claim.Status.AllocatedResources[corev1.ResourceStorage]; ok && given.Cmp(storage) > 0 {
		storage = given.DeepCopy()
	}
	storage.RoundUp(0)
	return storage, true
}

func claimWithin(obj runtime.Object, scope requirement) (bool, error) {
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
