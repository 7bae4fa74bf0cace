package native

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxLocalProfile is the longest name of a profile on the node.
const maxLocalProfile = 4095

// AppArmorProfile returns the profile that a deprecated annotation names, nil if it names none.
func AppArmorProfile(annotation string) *corev1.AppArmorProfile {
	name, isLocal := strings.CutPrefix(annotation, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	switch {
	case annotation == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case annotation == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	case isLocal && name != "":
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	}
	return nil
}

// ConvertAppArmor copies the deprecated AppArmor annotations of a new pod to the fields of its containers, unless the container has a
// profile, or the pod has the same one. It returns the warnings about the annotations. Kubernetes does both when it creates a pod, and not
// for pod templates.
func ConvertAppArmor(pod *corev1.Pod) (warnings []string) {
	if pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows {
		return nil
	}
	convert := func(name string, context **corev1.SecurityContext) {
		key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + name
		annotation, ok := pod.Annotations[key]
		if !ok || *context != nil && (*context).AppArmorProfile != nil {
			return
		}
		profile := AppArmorProfile(annotation)
		if profile != nil && !isValidLocal(profile.LocalhostProfile) {
			profile = nil
		}
		if profile != nil {
			if pod.Spec.SecurityContext != nil && apiequality.Semantic.DeepEqual(pod.Spec.SecurityContext.AppArmorProfile, profile) {
				return
			}
			if *context == nil {
				*context = &corev1.SecurityContext{}
			}
			(*context).AppArmorProfile = profile
		}
		warnings = append(warnings, fmt.Sprintf(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`,
			field.NewPath("metadata", "annotations").Key(key)))
	}
	for i := range pod.Spec.InitContainers {
		convert(pod.Spec.InitContainers[i].Name, &pod.Spec.InitContainers[i].SecurityContext)
	}
	for i := range pod.Spec.Containers {
		convert(pod.Spec.Containers[i].Name, &pod.Spec.Containers[i].SecurityContext)
	}
	for i := range pod.Spec.EphemeralContainers {
		convert(pod.Spec.EphemeralContainers[i].Name, &pod.Spec.EphemeralContainers[i].SecurityContext)
	}
	return warnings
}

// isValidLocal reports whether the name of a profile on the node is valid.
func isValidLocal(name *string) bool {
	return name == nil || strings.TrimSpace(*name) == *name && len(*name) <= maxLocalProfile
}
