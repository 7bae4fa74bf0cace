package lint_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/operator/lint"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// TestNarrow checks that Frozen finds what it finds when it renders each template for each
// parameter alone: on random packages with parameters of all types, with switches around fields and
// around whole objects, and with names of objects that depend on parameters.
func TestNarrow(t *testing.T) {
	found := 0
	for seed := range uint64(40) {
		p := random(t, rand.New(rand.NewPCG(seed, 0)))
		want, err := lint.FrozenOneByOne(t.Context(), p)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := lint.Frozen(t.Context(), p)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-one by one +narrow):\n%s\n%s", seed, diff, p.Templates["app.yaml"])
		}
		found += len(got)
	}
	if found < 40 {
		t.Errorf("the random packages have %d findings, too few for a comparison", found)
	}
}

// random returns a package with one template that uses 12 parameters.
func random(t *testing.T, from *rand.Rand) *pack.Package {
	t.Helper()
	defaults := []string{"default: text", "default: '3'", "type: integer, default: 2", "type: boolean, default: false", "default: 'true'", "default: 1Gi", "enum: [a, b, c], default: a"}
	var params, text strings.Builder
	for i := range 12 {
		fmt.Fprintf(&params, "- {name: P%d, %s}\n", i, defaults[from.IntN(len(defaults))])
	}
	value := func() string { return fmt.Sprintf("{{ .Params.P%d }}", from.IntN(12)) }
	condition := func() string {
		return fmt.Sprintf("{{ if eq (toString .Params.P%d) \"%s\" }}", from.IntN(12), []string{"true", "false", "text", "a", "b", "3"}[from.IntN(6)])
	}
	for i := range 3 {
		optional := from.IntN(3) == 0
		if optional {
			text.WriteString(condition() + "\n")
		}
		fmt.Fprintf(&text, "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: \"s%d\"}\nspec:\n", i)
		if from.IntN(4) == 0 {
			fmt.Fprintf(&text, "  podManagementPolicy: %s Parallel {{ else }} OrderedReady {{ end }}\n", condition())
		}
		service := value()
		if from.IntN(3) == 0 {
			service = condition() + value() + "{{ else }}fixed{{ end }}"
		}
		fmt.Fprintf(&text, "  serviceName: \"%s\"\n  selector: {matchLabels: {app: app}}\n", service)
		fmt.Fprintf(&text, "  template: {metadata: {labels: {app: app}}, spec: {containers: [{name: app, image: app, env: [{name: A, value: \"%s\"}]}]}}\n", value()+value())
		if optional {
			text.WriteString("{{ end }}\n")
		}
	}
	p, err := pack.Files{
		"operator.yaml": []byte("name: random\noperatorVersion: 0.1.0\ntasks: [{name: app, kind: Apply, spec: {resources: [app.yaml]}}]\n" +
			"plans: {deploy: {phases: [{name: main, steps: [{name: app, tasks: [app]}]}]}}\n"),
		"params.yaml": []byte("parameters:\n" + params.String()), "templates/app.yaml": []byte(text.String()),
	}.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return p
}
