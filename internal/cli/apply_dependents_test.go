package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// apply --replace --cascade=orphan keeps the dependents of the old object, and --adopt gives them to the new one. The command prints them before it
// replaces anything, and waits until the server has changed them.
func TestApplyReplaceDependents(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	objects := server.Client(t).CoreV1().ConfigMaps("default")
	file := filepath.Join(t.TempDir(), "app.yaml")
	level := func(level string) {
		t.Helper()
		text := "{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, immutable: true, data: {level: '" + level + "'}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	apply := func(code int, want string, args ...string) string {
		t.Helper()
		out, err := run(t.Context(), append([]string{"apply", "--kubeconfig", server.Kubeconfig(), "-f", file}, args...)...)
		if err != nil {
			out += err.Error()
		}
		if got := exitCode(err); got != code || !strings.Contains(out, want) {
			t.Errorf("apply %s: exit code %d, want %d with %q: %s", args, got, code, want, out)
		}
		return out
	}
	// state returns the names of the dependents, each with whether it refers to the object.
	state := func() string {
		t.Helper()
		app, err := objects.Get(t.Context(), "app", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := objects.List(t.Context(), metav1.ListOptions{LabelSelector: "of=app"})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, item := range list.Items {
			name := item.Name
			for _, ref := range item.OwnerReferences {
				if name += "<other"; ref.UID == app.UID {
					name = item.Name + "<app"
				}
			}
			found = append(found, name)
		}
		return strings.Join(found, " ")
	}
	level("1")
	apply(0, "created")
	app, err := objects.Get(t.Context(), "app", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := objects.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"of": "app"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "app", UID: app.UID}},
		}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	level("2")
	apply(1, "children, deleted with their owner: ConfigMap/one, ConfigMap/two (--cascade=orphan keeps them)", "--replace")
	apply(1, "kept, without their owner reference to the old object: ConfigMap/one, ConfigMap/two", "--replace", "--cascade=orphan")
	out := apply(1, "kept, with the new object as their owner: ConfigMap/one, ConfigMap/two", "--replace", "--cascade=orphan", "--adopt")
	if strings.Contains(out, "deleted with their owner") {
		t.Errorf("the plan says that they are deleted: %s", out)
	}
	apply(2, "--cascade=foreground: a replacement is one write", "--replace", "--cascade=foreground", "--yes")
	apply(2, "--adopt needs --cascade=orphan", "--replace", "--adopt", "--yes")
	apply(2, "--adopt needs --cascade=orphan", "--replace", "--adopt", "--cascade=background", "--yes")
	apply(2, "--yes, --adopt, --resume and --allow-data-loss are for --replace", "--adopt")
	apply(2, "must be background or orphan", "--replace", "--cascade=some", "--yes")
	if got := state(); got != "one<app two<app" {
		t.Fatalf("before a replacement: %s", got)
	}

	apply(0, "ConfigMap/app: adopted ConfigMap/one, ConfigMap/two\n", "--replace", "--cascade=orphan", "--adopt", "--yes")
	if got := state(); got != "one<app two<app" {
		t.Errorf("after the adoption: %s", got)
	}
	level("3")
	apply(0, "ConfigMap/app: orphaned ConfigMap/one, ConfigMap/two\n", "--replace", "--cascade=orphan", "--yes")
	if got := state(); got != "one two" {
		t.Errorf("after they were orphaned: %s", got)
	}
}
