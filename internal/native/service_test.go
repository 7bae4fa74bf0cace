package native_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/native"
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

// An update without the health check node port keeps the allocated one.
func TestKeepAllocatedHealthPort(t *testing.T) {
	old := corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, HealthCheckNodePort: 30001,
	}
	for name, test := range map[string]struct {
		policy corev1.ServiceExternalTrafficPolicy
		sent   int32
		want   int32
	}{
		"left out":       {corev1.ServiceExternalTrafficPolicyLocal, 0, 30001},
		"another":        {corev1.ServiceExternalTrafficPolicyLocal, 30002, 30002},
		"another policy": {corev1.ServiceExternalTrafficPolicyCluster, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.ServiceSpec{Type: old.Type, ExternalTrafficPolicy: test.policy, HealthCheckNodePort: test.sent}
			if native.KeepAllocated(&spec, &old); spec.HealthCheckNodePort != test.want {
				t.Errorf("port %d, want %d", spec.HealthCheckNodePort, test.want)
			}
		})
	}
}

// TestPolicyOfExternalIPs changes the type of a Service. With external IPs it keeps its policy,
// because such a Service must have one.
func TestPolicyOfExternalIPs(t *testing.T) {
	for name, test := range map[string]struct {
		addresses []string
		want      corev1.ServiceExternalTrafficPolicy
	}{
		"without external IPs": {want: ""},
		"with external IPs":    {addresses: []string{"192.0.2.1"}, want: corev1.ServiceExternalTrafficPolicyLocal},
	} {
		old := corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, ExternalIPs: test.addresses,
		}
		updated := *old.DeepCopy()
		updated.Type = corev1.ServiceTypeClusterIP
		native.KeepAllocated(&updated, &old)
		if updated.ExternalTrafficPolicy != test.want {
			t.Errorf("%s: policy %q, want %q", name, updated.ExternalTrafficPolicy, test.want)
		}
	}
}
