package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/lint"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// aged is a package with removed API versions and with fields that kinds do not have.
func aged() pack.Files {
	return pack.Files{
		"operator.yaml": []byte(`
name: aged
operatorVersion: 0.1.0
tasks:
- {name: all, kind: Apply, spec: {resources: [budget.yaml, old.yaml]}}
- {name: pipe, kind: Pipe, spec: {pod: pod.yaml, pipe: [{file: /a, kind: Secret, key: a}]}}
`),
		"params.yaml": []byte("parameters: [{name: EXTRA, type: boolean, default: false}]"),
		"templates/budget.yaml": []byte(`# The budget.
apiVersion: policy/v1beta1 # old
kind: PodDisruptionBudget
metadata:
  name: {{ .Name }}
---
apiVersion: "rbac.authorization.k8s.io/v1beta1"
kind: Role
metadata:
  name: {{ .Name }}
{{ if eq .Params.EXTRA "true" }}
---
kind: CronJob
apiVersion: batch/v1beta1
metadata:
  name: extra
{{ end }}
`),
		"templates/old.yaml": []byte(`apiVersion: extensions/v1beta1
kind: Deployment
metadata: {name: a}
---
apiVersion: apps/v1beta2
kind: StatefulSet
metadata: {name: b}
spec: {selector: {matchLabels: {a: b}}}
`),
		"templates/pod.yaml": []byte("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {container: []}}"),
	}
}

func kinds(t *testing.T, files pack.Files) []string {
	t.Helper()
	p, err := files.Parse()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, finding := range lint.Kinds(t.Context(), p) {
		all = append(all, finding.String())
	}
	return all
}

func TestKinds(t *testing.T) {
	want := []string{
		"templates/budget.yaml: PodDisruptionBudget instance: policy/v1beta1 was removed in Kubernetes 1.25: use policy/v1, " +
			"for example with \"holdfast kudo package migrate\"",
		"templates/budget.yaml: Role instance: rbac.authorization.k8s.io/v1beta1 was removed in Kubernetes 1.22: " +
			"use rbac.authorization.k8s.io/v1, for example with \"holdfast kudo package migrate\"",
		"templates/budget.yaml: CronJob extra: batch/v1beta1 was removed in Kubernetes 1.25: use batch/v1, for example with \"holdfast kudo package migrate\"",
		"templates/old.yaml: Deployment a: extensions/v1beta1 was removed in Kubernetes 1.16: use apps/v1, where spec.selector is required",
		"templates/old.yaml: StatefulSet b: apps/v1beta2 was removed in Kubernetes 1.16: use apps/v1, for example with \"holdfast kudo package migrate\"",
		"templates/pod.yaml: Pod a: v1 has no such fields, plans leave them out: spec.container",
	}
	if diff := cmp.Diff(want, kinds(t, aged())); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestMigrate(t *testing.T) {
	files := aged()
	migrated, err := lint.Migrate(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	want := aged()
	replaced := strings.NewReplacer(
		"apiVersion: policy/v1beta1 # old", "apiVersion: policy/v1 # old",
		`apiVersion: "rbac.authorization.k8s.io/v1beta1"`, `apiVersion: "rbac.authorization.k8s.io/v1"`,
		"apiVersion: batch/v1beta1", "apiVersion: batch/v1",
		// The Deployment of extensions/v1beta1 has no selector, so it stays.
		"apiVersion: apps/v1beta2", "apiVersion: apps/v1",
	)
	for name, text := range want {
		want[name] = []byte(replaced.Replace(string(text)))
	}
	if diff := cmp.Diff(len(want), len(migrated)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for name := range want {
		if diff := cmp.Diff(string(want[name]), string(migrated[name])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(aged(), files); diff != "" {
		t.Errorf("the argument was changed (-want +got):\n%s", diff)
	}
	if left := kinds(t, migrated); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}
