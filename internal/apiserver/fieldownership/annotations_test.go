package fieldownership_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/ownership"
)

// A write is stored whatever the annotation of the object holds, with at most one warning
// about it.
func TestOwnershipAnnotations(t *testing.T) {
	t.Parallel()
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	const malformed = "ownership not checked: the last-applied configuration is malformed: "
	tests := map[string]struct{ applied, want string }{
		"empty":              {"", ""},
		"no JSON":            {"{broken", malformed},
		"a list":             {"[1]", malformed},
		"null":               {"null", malformed},
		"deep":               {strings.Repeat("[", 100_000), "ownership not checked: the last-applied configuration is nested deeper than"},
		"control characters": {"\x01\n{", malformed},
		"another kind":       {`{"apiVersion":"example.dev/v1","kind":"Gizmo"}`, malformed + `kind "Gizmo", not ConfigMap`},
		"another version":    {`{"apiVersion":"v7","kind":"ConfigMap"}`, malformed + `version "v7" is not known`},
		"another type":       {`{"apiVersion":"v1","kind":"ConfigMap","data":[]}`, malformed},
		"unknown fields": {
			`{"apiVersion":"v1","kind":"ConfigMap","dota":{"a":"1"}}`,
			`ownership not checked: the last-applied configuration has unknown fields: "dota"`,
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ToLower(title), " ", "-")
			for _, act := range []string{"patch", "edit", "apply"} {
				create(t, config, name+"-"+act, test.applied)
				c := running(t, config, "kubectl "+act)
				if err := patchConfig(t.Context(), c, name+"-"+act, `{"data":{"a":"2"}}`, "kubectl-"+act); err != nil {
					t.Fatal(err)
				}
				said := c.heard()
				if test.want == "" && said != nil || test.want != "" && (len(said) != 1 || !strings.HasPrefix(said[0], test.want)) {
					t.Errorf("%s: told %q, want %q", act, said, test.want)
				}
			}
		})
	}
}

// create creates a ConfigMap with a last-applied configuration.
func create(t *testing.T, config *rest.Config, name, applied string) {
	t.Helper()
	_, err := running(t, config, "").CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{ownership.LastApplied: applied}},
		Data:       map[string]string{"a": "1"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// A replacement that is too large for the annotation is stored, with one warning.
func TestOwnershipOfLargeReplacements(t *testing.T) {
	t.Parallel()
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	tests := map[string]struct {
		size   int
		want   string
		follow bool
	}{
		"just-fits": {
			250 << 10,
			"ConfigMap/NAME -n default is managed with kubectl apply; its last-applied configuration was set to the replacement.", true,
		},
		"too-large":  {300 << 10, "ownership not checked: " + ownership.NoteTooLarge + " (ConfigMap/NAME -n default)", false},
		"a-megabyte": {1<<20 - 100, "ownership not checked: " + ownership.NoteTooLarge + " (ConfigMap/NAME -n default)", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			create(t, config, name, `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}`)
			c := running(t, config, "kubectl replace")
			got, err := c.CoreV1().ConfigMaps("default").Update(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": strings.Repeat("x", test.size)},
			}, metav1.UpdateOptions{FieldManager: "kubectl-replace"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{strings.ReplaceAll(test.want, "NAME", name)}, c.heard()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if len(got.Data["a"]) != test.size || (got.Annotations[ownership.LastApplied] != "") != test.follow {
				t.Errorf("%d bytes are stored, with an annotation of %d", len(got.Data["a"]), len(got.Annotations[ownership.LastApplied]))
			}
		})
	}
}
