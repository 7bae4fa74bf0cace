package guard_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
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
		"no file":                 {"", nil, "no file: use -f FILE"},
		"another target":          {"", []string{"--to", "cel"}, `--to "cel": must be annotation or markers`},
	} {
		out, _, err := run(t.Context(), test.stdin, append([]string{"guard", "convert"}, test.args...)...)
		if err == nil || err.Error() != test.want || out != "" {
			t.Errorf("%s: got %v, %q", name, err, out)
		}
	}
}
