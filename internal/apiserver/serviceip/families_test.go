package serviceip_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// A Service that needs a second IP family is refused, as on a Kubernetes cluster with one family.
func TestFamilies(t *testing.T) {
	t.Parallel()
	services := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t).CoreV1().Services("default")
	parse := func(spec string) *corev1.Service {
		s := service("families", nil)
		if err := yaml.Unmarshal([]byte(spec), &s.Spec); err != nil {
			t.Fatal(err)
		}
		return s
	}
	const single = `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple `
	const second = `spec.clusterIPs[1]: Invalid value: ["10.96.0.9","fd00::1"]: IPv6 is not configured on this cluster`
	const dual = `spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services`
	for spec, want := range map[string][]string{
		`{clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9, "fd00::1"]}`:                                  {single + "cluster IPs are specified", second},
		`{clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9, "fd00::1"], ipFamilyPolicy: PreferDualStack}`: {second},
		`{clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9, 10.96.0.10]}`: {
			`spec.clusterIPs: Invalid value: ["10.96.0.9","10.96.0.10"]: may specify no more than one IP for each IP family`,
		},
		`{clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9, nowhere]}`: {
			`spec.clusterIPs[1]: Invalid value: "nowhere": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
		},
		`{ipFamilies: [IPv4, IPv6]}`:                                    {single + "IP families are specified"},
		`{ipFamilies: [IPv6]}`:                                          {`spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`},
		`{ipFamilyPolicy: RequireDualStack}`:                            {dual},
		`{clusterIP: None, selector: {a: b}, ipFamilies: [IPv4, IPv6]}`: {single + "IP families are specified"},
	} {
		_, err := services.Create(t.Context(), parse(spec), metav1.CreateOptions{})
		for _, cause := range want {
			if err == nil || !strings.Contains(err.Error(), cause) || strings.Count(err.Error(), "Invalid value") != len(want) {
				t.Errorf("create with %s: %v, want %q", spec, err, want)
			}
		}
	}
	for _, spec := range []string{`{clusterIP: None}`, `{clusterIP: None, ipFamilies: [IPv6]}`, `{ipFamilyPolicy: PreferDualStack}`} {
		if _, err := services.Create(t.Context(), parse(spec), metav1.CreateOptions{}); err != nil {
			t.Errorf("create with %s: %v", spec, err)
		}
		if err := services.Delete(t.Context(), "families", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	created, err := services.Create(t.Context(), parse(`{}`), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	policy := corev1.IPFamilyPolicyRequireDualStack
	created.Spec.IPFamilyPolicy = &policy
	if _, err := services.Update(t.Context(), created, metav1.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), dual) {
		t.Errorf("update: %v, want %s", err, dual)
	}
}
