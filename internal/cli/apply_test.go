package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// apply --replace prints what is lost, replaces with --yes only, and replaces nothing if the server refuses one replacement.
func TestApplyReplace(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	objects := server.Client(t).CoreV1()
	const plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %NAME}, immutable: true, data: {level: '%LEVEL'}}\n---\n"
	file := filepath.Join(t.TempDir(), "app.yaml")
	write := func(level string, names ...string) {
		t.Helper()
		var text string
		for _, name := range names {
			text += strings.NewReplacer("%NAME", name, "%LEVEL", level).Replace(plain)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(code int, want []string, args ...string) {
		t.Helper()
		out, err := run(t.Context(), append([]string{"apply", "--kubeconfig", server.Kubeconfig(), "-f", file}, args...)...)
		if err != nil {
			out += err.Error()
		}
		if got := exitCode(err); got != code {
			t.Errorf("apply %s: exit code %d, want %d: %s", args, got, code, out)
		}
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("apply %s: the output lacks %q: %s", args, text, out)
			}
		}
	}
	level := func(name string) (level, uid string) {
		t.Helper()
		found, err := objects.ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return found.Data["level"], string(found.UID)
	}

	write("1", "app", "held")
	apply(0, []string{"configmap/app created", "configmap/held created"}, "--replace")
	_, first := level("app")

	write("2", "app", "new")
	apply(1, []string{
		"ConfigMap/app in namespace default: must be replaced", "lost: nothing but the identity",
		"1 of 2 objects must be replaced: --yes replaces them; nothing was written",
	}, "--replace")
	if got, uid := level("app"); got != "1" || uid != first {
		t.Fatalf("level %s, UID %s after a run without --yes", got, uid)
	}
	apply(0, []string{"ConfigMap/app replaced: the UID " + first + " is now", "configmap/app unchanged", "configmap/new created"}, "--replace", "--yes")
	got, second := level("app")
	if got != "2" || second == first {
		t.Errorf("level %s, UID %s", got, second)
	}
	apply(0, []string{"configmap/app unchanged"})

	// A controller has to clean up after one of them, so none is replaced.
	if _, err := objects.ConfigMaps("default").Patch(t.Context(), "held", "application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":["example.com/a"]}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	write("3", "app", "held")
	apply(1, []string{"it has the finalizer example.com/a", "nothing was written"}, "--replace", "--yes")
	if got, uid := level("app"); got != "2" || uid != second {
		t.Errorf("level %s, UID %s", got, uid)
	}

	apply(2, []string{`--allow-data-loss "app": must be KIND/NAME`}, "--replace", "--allow-data-loss", "app")
	apply(2, []string{"--yes, --adopt and --allow-data-loss are for --replace"}, "--yes")
	apply(2, []string{"leave out --server-side"}, "--replace", "--server-side")

	// A file with an old resourceVersion is no reason to replace the object.
	stale := strings.NewReplacer("%NAME}", "app, resourceVersion: '1'}", "%LEVEL", "3").Replace(plain)
	if err := os.WriteFile(file, []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	apply(1, []string{"the object has been modified", "1 of 1 objects cannot be applied: nothing was written"}, "--replace", "--yes")
	write("3", "app", "held")

	plans, err := run(t.Context(), "diff", "--plan", "--kubeconfig", server.Kubeconfig(), "-f", file)
	if exitCode(err) != 1 || !strings.Contains(plans, "holdfast apply --replace, with the same files") {
		t.Errorf("diff --plan: %v, %s", err, plans)
	}
}
