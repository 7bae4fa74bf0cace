package ownershipcheck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/ownership"
)

// replaced is the warning about a replaced object.
const replaced = "ConfigMap/%s -n default is managed with kubectl apply; its last-applied configuration was set to the replacement."

// TestReplace checks the last-applied configuration after a replace, and the warnings.
func TestReplace(t *testing.T) {
	server := uncheckedServer(t)
	tests := map[string]struct {
		data map[string]string
		want []string
		// applied is a part of the annotation afterwards, "" if there is none.
		applied string
	}{
		"other content": {data: map[string]string{"a": "2"}, want: []string{fmt.Sprintf(replaced, "other-content")}, applied: `"data":{"a":"2"}`},
		"same":          {data: map[string]string{"a": "1"}, applied: `"data":{"a":"1"}`},
		"no data":       {want: []string{fmt.Sprintf(replaced, "no-data")}, applied: `"kind":"ConfigMap"`},
		"too large": {
			data: map[string]string{"a": strings.Repeat("x", 300<<10)},
			want: []string{"ownership not checked: " + ownership.NoteTooLarge + " (ConfigMap/too-large -n default)"},
		},
		"a megabyte": {
			data: map[string]string{"a": strings.Repeat("x", 1<<20-100)},
			want: []string{"ownership not checked: " + ownership.NoteTooLarge + " (ConfigMap/a-megabyte -n default)"},
		},
		"largest": {
			data:    map[string]string{"a": strings.Repeat("x", 250<<10)},
			want:    []string{fmt.Sprintf(replaced, "largest")},
			applied: `xxx"}`,
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			name := strings.ReplaceAll(title, " ", "-")
			applied(t, server, name, config)
			c := newClient(t, server, "holdfast replace")
			got, err := c.CoreV1().ConfigMaps("default").Update(t.Context(), &corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Data: test.data,
			}, metav1.UpdateOptions{FieldManager: "kubectl-replace"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.data, got.Data); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, c.warnings()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if text := got.Annotations[ownership.LastApplied]; !strings.Contains(text, test.applied) || test.applied == "" && text != "" {
				t.Errorf("the annotation has %d bytes and not %q", len(text), test.applied)
			}
		})
	}
}
