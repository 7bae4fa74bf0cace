package controller_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/waittest"
)

// keys is an operator with a plan of ten steps, each with a template that generates keys for many
// seconds.
func keys() string {
	var spec strings.Builder
	spec.WriteString("templates:\n")
	for i := range 10 {
		fmt.Fprintf(&spec, "  t%d.yaml: \"{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-%d'}, data: "+
			"{a: '{{ range until 9 }}{{ genPrivateKey `rsa` | sha256sum }}{{ end }}'}}\"\n", i, i)
	}
	spec.WriteString("tasks:\n")
	for i := range 10 {
		fmt.Fprintf(&spec, "- {name: t%d, kind: Apply, spec: {resources: [t%d.yaml]}}\n", i, i)
	}
	spec.WriteString("plans:\n  deploy:\n    strategy: serial\n    phases:\n    - name: main\n      strategy: serial\n      steps:\n")
	for i := range 10 {
		fmt.Fprintf(&spec, "      - {name: s%d, tasks: [t%d]}\n", i, i)
	}
	return spec.String()
}

// TestPlansOfOtherNamespaces checks that a plan ends while four Instances of another namespace generate
// keys, and that the generation ends when these Instances are deleted or their plans are cancelled.
func TestPlansOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	busy, other := start(t), start(t)
	busy.operator(t, "keys", "1.0.0", keys())
	other.operator(t, "plain", "1.0.0", `
templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}'}}"}
tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
plans: {deploy: {strategy: serial, phases: [{name: main, strategy: serial, steps: [{name: a, tasks: [a]}]}]}}
`)
	for i := range 4 {
		busy.install(t, fmt.Sprintf("keys-%d", i), "keys-1.0.0", nil)
	}
	waittest.Until(t, "keys are generated", generatesKeys)
	other.install(t, "plain", "plain-1.0.0", nil)
	other.awaitComplete(t, "plain")
	for i := range 4 {
		name := fmt.Sprintf("keys-%d", i)
		var err error
		if i%2 == 0 {
			err = busy.kudo("instances").Delete(t.Context(), name, metav1.DeleteOptions{})
		} else {
			err = busy.change(t, name, func(i *api.Instance) {
				i.Spec.PlanExecution.PlanName, i.Spec.PlanExecution.Status = "", api.FatalError
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "no keys are generated", func() bool { return !generatesKeys() })
}

// generatesKeys reports whether a goroutine of this process generates a key of RSA.
func generatesKeys() bool {
	buffer := make([]byte, 1<<23)
	return strings.Contains(string(buffer[:runtime.Stack(buffer, true)]), "crypto/rsa.GenerateKey(")
}
