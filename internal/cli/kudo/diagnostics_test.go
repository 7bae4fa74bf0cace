package kudo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// testDiagnostics checks what is collected about an instance and those that it installed, and
// that the values of Secrets are not.
func testDiagnostics(t *testing.T, c cluster) {
	root := folder(t, map[string]string{
		"operator.yaml": `
name: top
operatorVersion: 0.1.0
tasks: [{name: key, kind: Apply, spec: {resources: [key.yaml]}}, {name: child, kind: KudoOperator, spec: {package: ./child}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [key, child]}]}]}}
`,
		"templates/key.yaml":     "{apiVersion: v1, kind: Secret, metadata: {name: '{{ .Name }}'}, stringData: {password: hunter2}}",
		"child/operator.yaml":    bundledChild,
		"child/params.yaml":      "parameters: [{name: SIZE, default: 1, type: integer}]",
		"child/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}, data: {size: '{{ .Params.SIZE }}'}}",
	})
	c.must(t, "install", root, "--instance", "top", "--wait")
	if _, err := c.CoreV1().Pods(c.Namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "top-0", Labels: map[string]string{"kudo.dev/instance": "top"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "a"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The controller writes Events after what they tell.
	waittest.Until(t, "an event about the instance", func() bool {
		events, err := c.CoreV1().Events(c.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=top"})
		return err == nil && len(events.Items) > 0
	})
	diag := filepath.Join(t.TempDir(), "diag")
	out := c.must(t, "diagnostics", "collect", "--instance", "top", "-O", diag)
	if !strings.HasPrefix(out, "diagnostics of instance top are in "+diag) {
		t.Error(out)
	}
	for file, want := range map[string]string{
		"version.yaml": "server: v", "instance.yaml": "kind: Instance", "operator.yaml": "name: top", "operatorversion.yaml": "version: 0.1.0",
		"events.yaml": "kind: Instance", "objects/secret/top.yaml": "password: (left out, 12 characters)", "pods/top-0/pod.yaml": "image: a",
		// The pod has no node yet, so its log is empty.
		"pods/top-0/main.log": "", "instances/top-child/objects/configmap/top-child.yaml": "size: \"1\"",
		"instances/top-child/operatorversion.yaml": "name: child",
	} {
		text, err := os.ReadFile(filepath.Join(diag, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %q in:\n%s", file, err, want, text)
		}
	}
	if err := filepath.WalkDir(diag, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "aHVudGVyMg") || strings.Contains(string(text), "hunter2") && filepath.Base(name) != "operatorversion.yaml" {
			t.Errorf("%s contains the value of a Secret", name)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	c.fails(t, "--output-directory: ", "diagnostics", "collect", "top", "-O", diag)
}
