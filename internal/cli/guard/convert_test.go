package guard_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/guard"
	"holdfast.dev/holdfast/internal/yamltest"
)

// run runs holdfast with the command guard only.
func run(ctx context.Context, stdin string, args ...string) (stdout, stderr string, err error) {
	root := &cobra.Command{Use: "holdfast", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(guard.New(guard.Program{Version: "v0.0.0", Logging: func(context.Context, int) {}}))
	var out, errs bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	err = root.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

func TestConvert(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "examples", "widgets.yaml")
	original, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	annotated, stderr, err := run(t.Context(), "", "guard", "convert", "-f", file)
	if err != nil {
		t.Fatal(err, stderr)
	}
	if strings.Contains(annotated, "x-kubernetes-immutable") || !strings.Contains(annotated, "immutable spec.size\n") {
		t.Errorf("got\n%s", annotated)
	}
	back, stderr, err := run(t.Context(), annotated, "guard", "convert", "--to", "markers", "-f", "-")
	if err != nil {
		t.Fatal(err, stderr)
	}
	if diff := cmp.Diff(yamltest.Map(t, string(original)), yamltest.Map(t, back)); diff != "" {
		t.Errorf("converted back (-want +got):\n%s", diff)
	}
}

// ruledText is a definition with the lines of the annotation and the keywords of spec.size.
func ruledText(keywords string, lines ...string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  annotations:
    holdfast.dev/immutability: |
      ` + strings.Join(lines, "\n      ") + `
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string` + keywords + `}
              zone: {type: string}
              labels: {type: object, additionalProperties: {type: string}}
`
}

// TestConvertRules checks that every rule survives both directions: as a keyword where a schema can state it, and as a line elsewhere.
func TestConvertRules(t *testing.T) {
	t.Parallel()
	const conditional = `immutable spec.zone unless move while has(oldSelf.spec.size)`
	lines := []string{
		"update=NoSet,NoModify spec.labels", "set-once spec.size", "no-unset spec.zone",
		conditional, "no-set spec.zone", "no-delete unless scrap", `immutable metadata.labels["team"]`,
	}
	markers, stderr, err := run(t.Context(), ruledText("", lines...), "guard", "convert", "--to", "markers", "-f", "-")
	if err != nil {
		t.Fatal(err, stderr)
	}
	root := yamltest.Map(t, markers)
	rest := []string{conditional, "no-set spec.zone", "no-delete unless scrap", "immutable metadata.labels.team"}
	annotations := root["metadata"].(map[string]any)["annotations"].(map[string]any)
	if diff := cmp.Diff(strings.Join(rest, "\n")+"\n", annotations["holdfast.dev/immutability"]); diff != "" {
		t.Errorf("the lines that stay (-want +got):\n%s", diff)
	}
	for _, line := range rest {
		want := "-:7: widgets.example.com: metadata.annotations[holdfast.dev/immutability]: stays in the annotation, because no schema can state it: " + line + "\n"
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr %q lacks %q", stderr, want)
		}
	}
	for _, want := range []string{
		"x-kubernetes-update:\n                - NoUnset\n                - NoModify\n",
		"x-kubernetes-update:\n                - NoSet\n                - NoModify\n",
		"x-kubernetes-update:\n                - NoUnset\n",
	} {
		if !strings.Contains(markers, want) {
			t.Errorf("%q is not in\n%s", want, markers)
		}
	}
	back, stderr, err := run(t.Context(), markers, "guard", "convert", "-f", "-")
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	want := ruledText("", slices.Concat([]string{lines[0], lines[1], lines[2]}, rest)...)
	if diff := cmp.Diff(yamltest.Map(t, want), yamltest.Map(t, back)); diff != "" {
		t.Errorf("converted back (-want +got):\n%s", diff)
	}
	same, stderr, err := run(t.Context(), ruledText(", x-kubernetes-update: [NoModify, NoUnset]", "set-once spec.size"), "guard", "convert", "-f", "-")
	if err != nil || strings.Count(same, "set-once spec.size") != 1 || strings.Contains(same, "x-kubernetes-update") {
		t.Errorf("a line that a keyword states too: %v %s\n%s", err, stderr, same)
	}
}

// TestConvertWrongRules checks that wrong lines are named, and that the definition is not printed.
func TestConvertWrongRules(t *testing.T) {
	t.Parallel()
	const at = "-:7: "
	for line, want := range map[string]string{
		"immutable spec.size while oldSelf.spec.colour":   "the condition is wrong: column 13: undefined field 'colour'",
		"immutable spec.none":                             "immutable spec.none: no version has this field",
		"no-delete unless delete":                         "unless delete: this verb has a meaning already, choose another",
		"immutable spec.size if oldSelf.spec.size == '1'": `after the path at "if": want unless VERB`,
	} {
		for _, to := range []string{"annotation", "markers"} {
			out, stderr, err := run(t.Context(), ruledText("", line), "guard", "convert", "--to", to, "-f", "-")
			if err == nil || out != "" || !strings.HasPrefix(stderr, at) || !strings.Contains(stderr, want) {
				t.Errorf("%s to %s: %v, %q, %q", line, to, err, out, stderr)
			}
		}
	}
}

func TestConvertRefused(t *testing.T) {
	t.Parallel()
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          list: {type: array, items: {type: string}, x-kubernetes-normalize: undefined}
`
	for name, test := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"a keyword of our server": {text, []string{"-f", "-"}, "definitions that cannot be converted: 1"},
		"no definition":           {"a: 1\n", []string{"-f", "-"}, "no CustomResourceDefinition in the files"},
		"no file":                 {"", nil, "the argument FILE is missing"},
		"another target":          {"", []string{"--to", "cel", "-"}, `--to "cel": must be annotation or markers`},
	} {
		out, _, err := run(t.Context(), test.stdin, append([]string{"guard", "convert"}, test.args...)...)
		if err == nil || err.Error() != test.want || out != "" {
			t.Errorf("%s: got %v, %q", name, err, out)
		}
	}
}
