package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
)

// restarting is an operator with a Deployment that uses a ConfigMap of its own task, a Secret of
// an earlier task, and a ConfigMap that the operator does not apply.
const restarting = `
parameters: [{name: CONFIG, default: a}, {name: SECRET, default: a}, {name: LABEL, default: a}]
templates:
  secret.yaml: "{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {a: '{{ .Params.SECRET }}'}}"
  app.yaml: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {a: '{{ .Params.LABEL }}'}}, data: {a: '{{ .Params.CONFIG }}'}}
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: app}
    spec:
      selector: {matchLabels: {app: app}}
      template:
        metadata: {labels: {app: app}}
        spec:
          containers: [{name: a, image: a, envFrom: [{secretRef: {name: key}}, {configMapRef: {name: foreign, optional: true}}]}]
          volumes: [{name: config, configMap: {name: config}}]
tasks: [{name: secret, kind: Apply, spec: {resources: [secret.yaml]}}, {name: app, kind: Apply, spec: {resources: [app.yaml]}}]
plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [secret, app]}]}]}}
`

// TestDependenciesHash checks that the pod template of a workload changes with the content of
// the ConfigMaps and Secrets that its pods use, and with nothing else.
func TestDependenciesHash(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.operator(t, "restarting", "0.1.0", restarting)
	c.install(t, "mine", "restarting-0.1.0", nil)
	hash := func() string {
		t.Helper()
		c.awaitComplete(t, "mine")
		found, _, err := unstructured.NestedString(c.get(t, "apps/deployments", "app").Object,
			"spec", "template", "metadata", "annotations", "kudo.dev/dependencies-hash")
		if err != nil || found == "" {
			t.Fatalf("hash %q: %v", found, err)
		}
		return found
	}
	set := func(name, value string) {
		t.Helper()
		if err := c.change(t, "mine", func(i *api.Instance) {
			if i.Spec.Parameters == nil {
				i.Spec.Parameters = map[string]string{}
			}
			i.Spec.Parameters[name] = value
		}); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		what    string
		do      func()
		changes bool
	}{
		{"a value in the same task", func() { set("CONFIG", "b") }, true},
		{"a label", func() { set("LABEL", "b") }, false},
		{"a value in an earlier task", func() { set("SECRET", "b") }, true},
		{"another run", func() {
			if err := c.change(t, "mine", func(i *api.Instance) { i.Spec.PlanExecution.PlanName = "deploy" }); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a foreign object", func() {
			foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Data: map[string]string{"a": "b"}}
			if _, err := c.CoreV1().ConfigMaps(c.Namespace).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			set("LABEL", "c")
		}, true},
		{"an excluded object", func() {
			foreign := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "foreign", Annotations: map[string]string{"kudo.dev/skip-hash-calculation": ""}},
				Data:       map[string]string{"a": "c"},
			}
			if _, err := c.CoreV1().ConfigMaps(c.Namespace).Update(t.Context(), foreign, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			set("LABEL", "d")
		}, true},
	}
	before := hash()
	for _, step := range steps {
		step.do()
		after := hash()
		if (before != after) != step.changes {
			t.Errorf("%s: the hash was %s and is %s", step.what, before, after)
		}
		before = after
	}
}
