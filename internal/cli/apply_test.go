package cli_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/replacement/journal"
	"holdfast.dev/holdfast/internal/yamltest"
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
	apply(2, []string{"--yes, --adopt, --resume and --allow-data-loss are for --replace"}, "--yes")
	apply(2, []string{"--yes, --adopt, --resume and --allow-data-loss are for --replace"}, "--resume")
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

// apply --replace --resume without files lists the open journals, and with --yes finishes their replacements.
func TestApplyResume(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t).CoreV1()
	resume := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer // without the warnings of the servers of other tests
		streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard}
		args = append([]string{"apply", "--replace", "--resume", "--kubeconfig", server.Kubeconfig()}, args...)
		if err := cli.Run(t.Context(), streams, args); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		return out.String()
	}
	if out := resume(); out != "no replacement is open\n" {
		t.Errorf("without a journal: %s", out)
	}
	old, err := client.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	entry := &journal.Entry{
		Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), UID: old.UID, ResourceVersion: old.ResourceVersion, User: "alice", Host: "h",
		Old: yamltest.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: default}}`),
		New: yamltest.Object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: default,
			annotations: {kubectl.kubernetes.io/last-applied-configuration: two}}, data: {level: "2"}}`),
		Propagation: metav1.DeletePropagationBackground,
	}
	secret, err := entry.Secret()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if out := resume("-n", "kube-system"); out != "no replacement is open\n" {
		t.Errorf("in another namespace: %s", out)
	}
	out := resume()
	if !strings.Contains(out, "ConfigMap/app in namespace default: alice on h began to replace it at ") || !strings.Contains(out, "the old object is not deleted yet") {
		t.Errorf("the list: %s", out)
	}
	if stored, err := client.ConfigMaps("default").Get(t.Context(), "app", metav1.GetOptions{}); err != nil || stored.UID != old.UID {
		t.Errorf("%v: the list wrote %v", err, stored)
	}
	out = resume("--yes")
	stored, err := client.ConfigMaps("default").Get(t.Context(), "app", metav1.GetOptions{})
	if err != nil || stored.UID == old.UID || stored.Data["level"] != "2" {
		t.Fatalf("%v: stored %v", err, stored)
	}
	if want := "finished: the UID " + string(old.UID) + " is now " + string(stored.UID) + "; the object was absent for at most "; !strings.Contains(out, want) {
		t.Errorf("no %q in %s", want, out)
	}
	if out := resume(); out != "no replacement is open\n" {
		t.Errorf("afterwards: %s", out)
	}
}

// The error about earlier replacements counts them as a sentence does.
func TestNotFinished(t *testing.T) {
	t.Parallel()
	for replacements, want := range map[int]string{
		1: "1 replacement is not finished: --yes finishes it first; nothing was written",
		2: "2 replacements are not finished: --yes finishes them first; nothing was written",
	} {
		if got := cli.NotFinished(replacements).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
