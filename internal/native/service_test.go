package native_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

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
	native.KeepAllocated(&spec, &corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilyPolicy: &policy})
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

// TestKeepAllocated updates Services as kubectl apply does, without the fields that the client never set.
func TestKeepAllocated(t *testing.T) {
	tests := map[string]struct{ old, updated, want string }{
		"external IPs removed": {
			`{type: ClusterIP, externalIPs: [192.0.2.1], externalTrafficPolicy: Cluster}`,
			`{type: ClusterIP, externalTrafficPolicy: Cluster}`,
			`{type: ClusterIP}`,
		},
		"to ClusterIP, with fewer ports in another order": {
			`{type: NodePort, externalTrafficPolicy: Cluster, ports: [{name: a, port: 1, nodePort: 30001}, {name: b, port: 2, nodePort: 30002}, {name: c, port: 3, nodePort: 30003}]}`,
			`{type: ClusterIP, externalTrafficPolicy: Cluster, ports: [{name: c, port: 3, nodePort: 30003}, {name: a, port: 1, nodePort: 30001}, {name: d, port: 4}]}`,
			`{type: ClusterIP, ports: [{name: c, port: 3}, {name: a, port: 1}, {name: d, port: 4}]}`,
		},
		"to ClusterIP, with another node port": {
			`{type: NodePort, ports: [{port: 1, nodePort: 30001}]}`,
			`{type: ClusterIP, ports: [{port: 1, nodePort: 30002}]}`,
			`{type: ClusterIP, ports: [{port: 1, nodePort: 30002}]}`,
		},
		"node ports by name": {
			`{type: NodePort, ports: [{name: a, port: 1, nodePort: 30001}, {name: b, port: 2, nodePort: 30002}]}`,
			`{type: LoadBalancer, ports: [{name: b, port: 1}, {name: a, port: 3, nodePort: 30002}, {name: c, port: 4}]}`,
			`{type: LoadBalancer, ports: [{name: b, port: 1}, {name: a, port: 3, nodePort: 30002}, {name: c, port: 4}]}`,
		},
		"node port of a port with another number": {
			`{type: NodePort, ports: [{name: a, port: 1, nodePort: 30001}]}`,
			`{type: NodePort, ports: [{name: a, port: 2}]}`,
			`{type: NodePort, ports: [{name: a, port: 2, nodePort: 30001}]}`,
		},
		"to ExternalName": {
			`{type: ClusterIP, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}`,
			`{type: ExternalName, externalName: a, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}`,
			`{type: ExternalName, externalName: a}`,
		},
		"from ExternalName": {
			`{type: ExternalName, externalName: a}`, `{type: ClusterIP, externalName: a}`, `{type: ClusterIP, externalName: a}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var old, updated, want corev1.ServiceSpec
			for into, text := range map[*corev1.ServiceSpec]string{&old: tt.old, &updated: tt.updated, &want: tt.want} {
				if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			native.KeepAllocated(&updated, &old)
			if diff := cmp.Diff(want, updated); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}
