package apiserver_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// A disabled plugin refuses nothing; the others still do.
func TestDisabledAdmissionPlugin(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{DisableAdmission: []string{"ResourceQuota"}, EnableAdmission: []string{"NodeRestriction"}})
	core := server.Client(t).CoreV1()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0")}},
	}
	if _, err := core.ResourceQuotas("default").Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	if _, err := core.ConfigMaps("default").Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
		t.Errorf("with quotas turned off: %v", err)
	}
	if _, err := core.ConfigMaps("missing").Create(t.Context(), one, metav1.CreateOptions{}); err == nil {
		t.Error("an object was created in a namespace that does not exist")
	}
}

func TestUnknownAdmissionPlugin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config apiserver.Config
		want   string
	}{
		"unknown": {
			config: apiserver.Config{EnableAdmission: []string{"AlwaysPullImages"}},
			want:   `--enable-admission-plugins: no plugin "AlwaysPullImages" here: there are NamespaceLifecycle, LimitRanger,`,
		},
		"not to be turned off": {
			config: apiserver.Config{DisableAdmission: []string{"RoleEscalation"}},
			want:   `--disable-admission-plugins: no plugin "RoleEscalation" here`,
		},
		"both": {
			config: apiserver.Config{EnableAdmission: []string{"LimitRanger"}, DisableAdmission: []string{"LimitRanger"}},
			want:   `"LimitRanger" is both enabled and disabled`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.config.DataDir = t.TempDir()
			_, err := apiserver.New(t.Context(), test.config)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
