package fieldownership_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

const settings = `{"apiVersion":"v1","kind":"ConfigMap",` +
	`"metadata":{"annotations":{},"name":"settings","namespace":"default","labels":{"team":"red"}},"data":{"a":"1"}}`

// applied creates a ConfigMap as kubectl apply does.
func applied(t testing.TB, client kubernetes.Interface, name string) *corev1.ConfigMap {
	t.Helper()
	made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"team": "red"},
			Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.ReplaceAll(settings, "settings", name)},
		},
		Data: map[string]string{"a": "1"},
	}, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func patchConfig(ctx context.Context, client kubernetes.Interface, name, patch, manager string) error {
	options := metav1.PatchOptions{FieldManager: manager}
	_, err := client.CoreV1().ConfigMaps("default").Patch(ctx, name, types.MergePatchType, []byte(patch), options)
	return err
}

func TestOwnershipModes(t *testing.T) {
	t.Parallel()
	line := func(command, x, y string) []string {
		return []string{fmt.Sprintf("`%s` changed the resource ConfigMap/settings -n default field .data.a value from %s to %s.  "+
			"This field is managed by `kubectl apply` (last set the field to \"1\"), and may be overwritten or cleared "+
			"the next time `kubectl apply` is run.  To undo: `kubectl apply` the file again, or set the field back to \"1\".  "+
			"To keep it: `holdfast transfer configmap/settings -n default --field '.data.a' --to imperative`.", command, x, y)}
	}
	tests := map[string]struct {
		mode, header  string
		refused       bool
		patched, edit []string
	}{
		"by default": {mode: "", header: "enforce-edit", refused: true, patched: line("kubectl patch", `"1"`, `"2"`)},
		"warn":       {mode: "warn", header: "warn", patched: line("kubectl patch", `"1"`, `"2"`), edit: line("kubectl edit", `"2"`, `"3"`)},
		"off":        {mode: "off"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := servertest.Start(t, apiserver.Config{Ownership: test.mode}).Config(t)
			applied(t, running(t, config, "kubectl apply"), "settings")
			patch := running(t, config, "kubectl patch")
			if err := patchConfig(t.Context(), patch, "settings", `{"data":{"a":"2"}}`, "kubectl-patch"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.patched, patch.heard()); diff != "" {
				t.Errorf("a patch is told (-want +got):\n%s", diff)
			}
			if got := patch.header.Get("Holdfast-Ownership"); got != test.header {
				t.Errorf("Holdfast-Ownership: %q, want %q", got, test.header)
			}
			edit := running(t, config, "kubectl edit")
			err := patchConfig(t.Context(), edit, "settings", `{"data":{"a":"3"}}`, "kubectl-edit")
			if apierrors.IsInvalid(err) != test.refused || err != nil && !test.refused {
				t.Errorf("an edit: %v, want it refused: %v", err, test.refused)
			}
			if diff := cmp.Diff(test.edit, edit.heard()); diff != "" {
				t.Errorf("an edit is told (-want +got):\n%s", diff)
			}
			if test.refused {
				checkRefusal(t, err)
				force := running(t, config, "holdfast edit", "Holdfast-Force", "true")
				if err := patchConfig(t.Context(), force, "settings", `{"data":{"a":"3"}}`, "kubectl-edit"); err != nil {
					t.Errorf("a forced edit: %v", err)
				}
				if diff := cmp.Diff(line("holdfast edit", `"2"`, `"3"`), force.heard()); diff != "" {
					t.Errorf("a forced edit is told (-want +got):\n%s", diff)
				}
			}
		})
	}
	_, err := apiserver.New(t.Context(), apiserver.Config{DataDir: t.TempDir(), Ownership: "perhaps"})
	if err == nil || err.Error() != `ownership "perhaps": must be enforce-edit, warn or off` {
		t.Errorf("a mode that does not exist: %v", err)
	}
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != http.StatusUnprocessableEntity || len(status.Status().Details.Causes) != 1 {
		t.Fatalf("refused with %v", err)
	}
	cause := status.Status().Details.Causes[0]
	const message = "managed by `kubectl apply` (last set the field to \"1\"), and the edit changes it from \"2\" to \"3\""
	if cause.Field != "data.a" || !strings.Contains(cause.Message, message) {
		t.Errorf("cause %+v", cause)
	}
}

// Warnings are about the write that was stored. A refused write gets none, and a write
// that was tried again gets none with a value of an earlier try.
func TestOwnershipOfStoredWrites(t *testing.T) {
	t.Parallel()
	config := servertest.Start(t, apiserver.Config{}).Config(t)
	admin := running(t, config, "kubectl apply")
	applied(t, admin, "settings")
	patch := running(t, config, "kubectl patch")

	t.Run("refused", func(t *testing.T) {
		for name, body := range map[string]string{
			"invalid":  `{"data":{"a":"2","bad key":"x"}}`,
			"conflict": `{"metadata":{"resourceVersion":"1"},"data":{"a":"2"}}`,
		} {
			if err := patchConfig(t.Context(), patch, "settings", body, "kubectl-patch"); err == nil {
				t.Errorf("%s: stored", name)
			}
		}
		if said := patch.heard(); said != nil {
			t.Errorf("told %q", said)
		}
		edit := running(t, config, "kubectl edit")
		err := patchConfig(t.Context(), edit, "settings", `{"metadata":{"resourceVersion":"1"},"data":{"a":"2"}}`, "kubectl-edit")
		if !apierrors.IsConflict(err) {
			t.Errorf("a stale edit of an owned field: %v, want a conflict", err)
		}
	})
	t.Run("a race", func(t *testing.T) {
		const writers = 12
		var group sync.WaitGroup
		told := make([]*commander, writers)
		for i := range writers {
			told[i] = running(t, config, "kubectl patch")
			group.Go(func() {
				if err := patchConfig(t.Context(), told[i], "settings", fmt.Sprintf(`{"data":{"a":"w%d"}}`, i), "kubectl-patch"); err != nil {
					t.Errorf("writer %d: %v", i, err)
				}
			})
		}
		group.Wait()
		values := regexp.MustCompile(`value from "(\w+)" to "(\w+)"`)
		var from []string
		for i, c := range told {
			said := c.heard()
			if len(said) != 1 {
				t.Fatalf("writer %d is told %q", i, said)
			}
			match := values.FindStringSubmatch(said[0])
			if match == nil || match[2] != fmt.Sprintf("w%d", i) {
				t.Fatalf("writer %d is told %q", i, said)
			}
			from = append(from, match[1])
		}
		slices.Sort(from)
		if unique := slices.Compact(slices.Clone(from)); len(unique) != writers {
			t.Errorf("writers replaced %v, each value only once", from)
		}
	})
	t.Run("a controller", func(t *testing.T) {
		robotConfig := restclient.CopyConfig(config)
		robotConfig.Impersonate = restclient.ImpersonationConfig{
			UserName: "system:serviceaccount:default:robot", Groups: []string{"system:masters"},
		}
		robot := running(t, robotConfig, "")
		if err := patchConfig(t.Context(), robot, "settings", `{"data":{"a":"robot"}}`, "robot"); err != nil {
			t.Fatal(err)
		}
		if said := robot.heard(); said != nil {
			t.Errorf("a controller is told %q", said)
		}
		// The warning of an apply names the manager that wrote the field last.
		if err := patchConfig(t.Context(), admin, "settings", `{"data":{"a":"1"}}`, "kubectl-client-side-apply"); err != nil {
			t.Fatal(err)
		}
		said := admin.heard()
		if len(said) != 1 || !strings.Contains(said[0], `value from "robot" to "1"`) ||
			!strings.Contains(said[0], "  Last set by robot at ") {
			t.Errorf("apply is told %q", said)
		}
	})
	t.Run("metadata in a write to the status", func(t *testing.T) {
		quotas := admin.CoreV1().ResourceQuotas("default")
		configuration := strings.NewReplacer("ConfigMap", "ResourceQuota", `"labels"`, `"finalizers":["example.com/f"],"labels"`,
			`,"data":{"a":"1"}`, "").Replace(settings)
		if _, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{
			Name: "settings", Labels: map[string]string{"team": "red"}, Finalizers: []string{"example.com/f"},
			Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": configuration},
		}}, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}); err != nil {
			t.Fatal(err)
		}
		write := func(c *commander, manager, patch string) error {
			_, err := c.CoreV1().ResourceQuotas("default").Patch(t.Context(), "settings", types.MergePatchType, []byte(patch),
				metav1.PatchOptions{FieldManager: manager}, "status")
			return err
		}
		if err := write(patch, "kubectl-patch", `{"status":{"hard":{"pods":"1"}}}`); err != nil || patch.heard() != nil {
			t.Errorf("a status alone: %v, or a warning", err)
		}
		err := write(patch, "kubectl-patch", `{"metadata":{"labels":{"team":"blue"}},"status":{"hard":{"pods":"2"}}}`)
		if said := patch.heard(); err != nil || len(said) != 1 || !strings.Contains(said[0], `.metadata.labels.team value from "red" to "blue"`) {
			t.Errorf("told %q, %v", said, err)
		}
		err = write(patch, "kubectl-patch", `{"metadata":{"finalizers":null}}`)
		if said := patch.heard(); err != nil || len(said) != 1 || !strings.Contains(said[0], `field .metadata.finalizers`) {
			t.Errorf("told %q, %v", said, err)
		}
		edit := running(t, config, "kubectl edit")
		if err := write(edit, "kubectl-edit", `{"metadata":{"labels":{"team":"green"}}}`); !apierrors.IsInvalid(err) {
			t.Errorf("an edit of an owned label: %v", err)
		}
	})
	t.Run("an object of a megabyte", func(t *testing.T) {
		big := fmt.Sprintf(`{"data":{"big":%q,"a":"z"}}`, strings.Repeat("x", 1<<20-100))
		if err := patchConfig(t.Context(), patch, "settings", big, "kubectl-patch"); err != nil {
			t.Fatal(err)
		}
		if said := patch.heard(); len(said) != 1 {
			t.Errorf("told %d lines", len(said))
		}
	})
}
