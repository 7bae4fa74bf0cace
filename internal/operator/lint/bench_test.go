package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/operator/lint"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// BenchmarkVerify measures what "holdfast kudo package verify" does with a small package and with
// a large one, whose 20 templates use 200 parameters each. Both are in one run, so that their
// quotient does not depend on the machine.
func BenchmarkVerify(b *testing.B) {
	for _, size := range []struct {
		name                  string
		templates, parameters int
	}{{"small", 2, 4}, {"large", 20, 200}} {
		b.Run(size.name, func(b *testing.B) {
			p := generated(b, size.templates, size.parameters)
			for b.Loop() {
				if findings := p.Verify(); len(findings) > 0 {
					b.Fatal(findings)
				}
				findings, err := lint.Frozen(b.Context(), p)
				if err != nil || len(findings) != size.templates {
					b.Fatalf("%d findings, %v", len(findings), err)
				}
				if findings := lint.Kinds(b.Context(), p); len(findings) > 0 {
					b.Fatal(findings)
				}
			}
		})
	}
}

// generated returns a package of StatefulSets, each with all parameters in its environment and
// one of them in an immutable field.
func generated(b testing.TB, templates, parameters int) *pack.Package {
	b.Helper()
	files := pack.Files{}
	var params, resources, env strings.Builder
	for i := range parameters {
		fmt.Fprintf(&params, "- {name: P%d, default: value-%d}\n", i, i)
		fmt.Fprintf(&env, "        - {name: P%d, value: \"{{ .Params.P%d }}\"}\n", i, i)
	}
	for i := range templates {
		fmt.Fprintf(&resources, "t%d.yaml, ", i)
		files[fmt.Sprintf("templates/t%d.yaml", i)] = []byte(fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: "{{ .Name }}-%d"}
spec:
  serviceName: "{{ .Params.P%d }}"
  selector: {matchLabels: {app: "{{ .Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Name }}"}}
    spec:
      containers:
      - name: app
        image: app
        env:
%s`, i, i%parameters, env.String()))
	}
	files["params.yaml"] = []byte("parameters:\n" + params.String())
	files["operator.yaml"] = []byte("name: generated\noperatorVersion: 0.1.0\ntasks: [{name: app, kind: Apply, spec: {resources: [" +
		resources.String() + "]}}]\nplans: {deploy: {phases: [{name: main, steps: [{name: app, tasks: [app]}]}]}}\n")
	p, err := files.Parse()
	if err != nil {
		b.Fatal(err)
	}
	return p
}
