package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/manifest"
)

func TestExpand(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.yaml", "b.yml", "c.txt", "d/e.json", "d/f/g.yaml", "d/.git/h.yaml", "empty/c.txt"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		args, want []string
		err        string
	}{
		"files":                 {args: []string{"c.txt", "./a.yaml", "-"}, want: []string{"c.txt", "a.yaml", "-"}},
		"a directory":           {args: []string{"d"}, want: []string{"d/e.json", "d/f/g.yaml"}},
		"each file once":        {args: []string{"a.yaml", "."}, want: []string{"a.yaml", "b.yml", "d/e.json", "d/f/g.yaml"}},
		"a pattern":             {args: []string{"*.y*ml"}, want: []string{"a.yaml", "b.yml"}},
		"any directories":       {args: []string{"**/*.yaml"}, want: []string{"a.yaml", "d/f/g.yaml"}},
		"directories in middle": {args: []string{"d/**/g.yaml"}, want: []string{"d/f/g.yaml"}},
		"no file":               {args: []string{"none.yaml"}, err: "no such file"},
		"no match":              {args: []string{"x*.yaml"}, err: "no .yaml, .yml or .json file matches"},
		"no match below":        {args: []string{"none/*.yaml"}, err: "no .yaml, .yml or .json file matches"},
		"an empty directory":    {args: []string{"empty"}, err: "no .yaml, .yml or .json file in this directory"},
		"a wrong pattern":       {args: []string{"[a"}, err: "syntax error in pattern"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inputs, err := manifest.Expand(test.args)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, input := range inputs {
				got = append(got, filepath.ToSlash(input.Name))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}
