package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/yamltest"
)

func TestConvertAppArmor(t *testing.T) {
	t.Parallel()
	const warning = `metadata.annotations[container.apparmor.security.beta.kubernetes.io/web]: deprecated since v1.30; use the "appArmorProfile" field instead`
	tests := map[string]struct {
		annotation, spec string
		// want is the security context of the container, null for none.
		want  string
		warns bool
	}{
		"unconfined":      {annotation: "unconfined", want: "{appArmorProfile: {type: Unconfined}}", warns: true},
		"the default":     {annotation: "runtime/default", want: "{appArmorProfile: {type: RuntimeDefault}}", warns: true},
		"of the node":     {annotation: "localhost/web", want: "{appArmorProfile: {type: Localhost, localhostProfile: web}}", warns: true},
		"unknown":         {annotation: "other", want: "null", warns: true},
		"without a name":  {annotation: "localhost/", want: "null", warns: true},
		"an invalid name": {annotation: `"localhost/ web"`, want: "null", warns: true},
		"too long":        {annotation: "localhost/" + strings.Repeat("x", 4096), want: "null", warns: true},
		"the field wins": {
			annotation: "unconfined", spec: "containers: [{name: web, securityContext: {appArmorProfile: {type: RuntimeDefault}}}]",
			want: "{appArmorProfile: {type: RuntimeDefault}}",
		},
		"the other fields stay": {
			annotation: "unconfined", spec: "containers: [{name: web, securityContext: {runAsUser: 1}}]",
			want: "{runAsUser: 1, appArmorProfile: {type: Unconfined}}", warns: true,
		},
		"the profile of the pod": {
			annotation: "runtime/default", spec: "securityContext: {appArmorProfile: {type: RuntimeDefault}}, containers: [{name: web}]", want: "null",
		},
		"another profile of the pod": {
			annotation: "unconfined", spec: "securityContext: {appArmorProfile: {type: RuntimeDefault}}, containers: [{name: web}]",
			want: "{appArmorProfile: {type: Unconfined}}", warns: true,
		},
		"Windows": {annotation: "unconfined", spec: "os: {name: windows}, containers: [{name: web}]", want: "null"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.spec == "" {
				test.spec = "containers: [{name: web}]"
			}
			pod, want := &corev1.Pod{}, (*corev1.SecurityContext)(nil)
			yamltest.Into(t, "{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/web: "+test.annotation+"}}, spec: {"+test.spec+"}}", pod)
			yamltest.Into(t, test.want, &want)
			warnings := native.ConvertAppArmor(pod)
			if diff := cmp.Diff(want, pod.Spec.Containers[0].SecurityContext); diff != "" {
				t.Errorf("security context (-want +got):\n%s", diff)
			}
			if warns := cmp.Equal([]string{warning}, warnings); warns != test.warns || !warns && len(warnings) > 0 {
				t.Errorf("warnings: %q", warnings)
			}
		})
	}
}
