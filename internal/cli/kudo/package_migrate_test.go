package kudo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	location := folder(t, map[string]string{
		"operator.yaml": "name: aged\noperatorVersion: 0.1.0\ntasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]\n" +
			"plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}\n",
		"templates/a.yaml": "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minimum: 1}\n",
	})
	destination := filepath.Join(t.TempDir(), "migrated")
	out := offline(t, "package", "migrate", location, "--destination", destination)
	want := "--- templates/a.yaml\n+++ templates/a.yaml\n@@ -1,4 +1,4 @@\n-apiVersion: policy/v1beta1\n+apiVersion: policy/v1\n" +
		" kind: PodDisruptionBudget\n metadata: {name: a}\n spec: {minimum: 1}\n" +
		"warning: templates/a.yaml: PodDisruptionBudget a: policy/v1 has no such fields, plans leave them out: spec.minimum\n" +
		"package aged-0.1.0 is in " + destination
	if out != want {
		t.Errorf("got:\n%s", out)
	}
	text, err := os.ReadFile(filepath.Join(destination, "templates", "a.yaml"))
	if err != nil || !strings.HasPrefix(string(text), "apiVersion: policy/v1\n") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := run(t.Context(), "package", "migrate", location, "--destination", destination); err == nil {
		t.Error("an existing folder was overwritten")
	}
}
