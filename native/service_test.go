package native_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/native"
)

// A new Service has no old type, so it keeps the fields that a change of the type removes.
func TestKeepAllocatedOfNewService(t *testing.T) {
	policy := corev1.IPFamilyPolicySingleStack
	spec := corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, IPFamilyPolicy: &policy}
	native.KeepAllocated(&spec, &corev1.ServiceSpec{})
	if spec.IPFamilyPolicy == nil {
		t.Error("ipFamilyPolicy is removed")
	}
	native.KeepAllocated(&spec, &corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP})
	if spec.IPFamilyPolicy != nil {
		t.Error("a change of the type keeps ipFamilyPolicy")
	}
}
