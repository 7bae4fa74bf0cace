package serviceip

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestSetFamilies(t *testing.T) {
	tests := map[string]struct{ spec, old, want string }{
		"ClusterIP": {
			`{type: ClusterIP, selector: {app: web}}`, `{}`,
			`{type: ClusterIP, selector: {app: web}, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}`,
		},
		"with an address": {
			`{type: NodePort, clusterIP: 10.0.0.1}`, `{}`,
			`{type: NodePort, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}`,
		},
		"ExternalName": {`{type: ExternalName, externalName: a}`, `{}`, `{type: ExternalName, externalName: a}`},
		"headless": {
			`{type: ClusterIP, clusterIP: None, selector: {app: web}}`, `{}`,
			`{type: ClusterIP, clusterIP: None, clusterIPs: [None], selector: {app: web}, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}`,
		},
		"headless without a selector": {
			`{type: ClusterIP, clusterIP: None, ipFamilies: [IPv6]}`, `{}`,
			`{type: ClusterIP, clusterIP: None, clusterIPs: [None], ipFamilies: [IPv6, IPv4], ipFamilyPolicy: RequireDualStack}`,
		},
		"headless without a selector, of one family": {
			`{type: ClusterIP, clusterIP: None, ipFamilyPolicy: SingleStack}`, `{}`,
			`{type: ClusterIP, clusterIP: None, clusterIPs: [None], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}`,
		},
		"with an address of each family": {
			`{type: ClusterIP, clusterIP: "fd00::1", clusterIPs: ["fd00::1", 10.0.0.1]}`, `{}`,
			`{type: ClusterIP, clusterIP: "fd00::1", clusterIPs: ["fd00::1", 10.0.0.1], ipFamilies: [IPv6, IPv4], ipFamilyPolicy: SingleStack}`,
		},
		"an update without the policy": {
			`{type: ClusterIP, ipFamilies: [IPv4]}`, `{type: ClusterIP, ipFamilyPolicy: PreferDualStack}`,
			`{type: ClusterIP, ipFamilies: [IPv4], ipFamilyPolicy: PreferDualStack}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var spec, old, want corev1.ServiceSpec
			for into, text := range map[*corev1.ServiceSpec]string{&spec: tt.spec, &old: tt.old, &want: tt.want} {
				if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			setFamilies(&spec, &old)
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}
