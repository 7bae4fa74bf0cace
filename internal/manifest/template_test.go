package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/manifest"
)

func TestSplitTemplate(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"around":           {"{{- if .a }}\na: 1\n{{- end }}\n", "\na: 1\n\n"},
		"value":            {"metadata:\n  a: {{ .x }}\n  b: '{{ .x }}'\n  c: \"{{ .x }}-y\" # {{ z }}\n", "metadata:\n  a:\n  b: ''\n  c: \"-y\" #\n"},
		"strings":          {"a: {{ f \"}}\\\"}}\" `}}\n}}` '}' }}b\n", "a:\nb\n"},
		"comment":          {"{{/* it's }}\n a \"comment */}}\na: 1\n", "\n\na: 1\n"},
		"no end":           {"a: '{{ x'\n---\nb: }}\n", "a: '{{ x'\n---\nb: }}\n"},
		"lines":            {"a: {{ f\n  .x }}\r\nb: 1\r\n", "a:\n\r\nb: 1\r\n"},
		"branches":         {"{{ if a }}\nx: 1\n{{ else if b }}\nx: 2\n{{ else }}\nx: 3\n{{ end }}\ny: 1\n", "\nx: 1\n\n\n\n\n\ny: 1\n"},
		"nested branches":  {"{{if a}}{{if b}}x: 1{{else}}x: 2{{end}}{{else}}x: 3{{end}}\n", "x: 1\n"},
		"branch of a spec": {"{{if a}}\nspec:\n  x: 1\n{{else}}\nspec:\n  x: 2\n{{end}}\n", "\nspec:\n  x: 1\n\n\n\n\n"},
		"no end of an if":  {"{{if a}}\nx: 1\n{{else}}\ny: 2\n", "\nx: 1\n\ny: 2\n"},
		"in spec":          {"spec:\n  {{ if x }}\n  a: '{{ b }}'\n{{ end }}\n  c: 1\n{{ end }}\n", "spec:\n  {{ if x }}\n  a: '{{ b }}'\n{{ end }}\n  c: 1\n\n"},
		"behind spec":      {"spec: {a: '{{ b }}'}\nstatus:\n  {{ x }}\n---\na: {{ x }}\n", "spec: {a: '{{ b }}'}\nstatus:\n\n---\na:\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := []byte(test.text)
			got := []byte(strings.Clone(test.text))
			for _, d := range manifest.SplitTemplate("file", file) {
				if len(d.Text) != d.End-d.Start {
					t.Fatalf("the length of %q is not that of %q", d.Text, file[d.Start:d.End])
				}
				if diff := cmp.Diff(string(file[d.Start:d.End]), string(d.Source())); diff != "" {
					t.Errorf("source (-want +got):\n%s", diff)
				}
				copy(got[d.Start:], d.Text)
			}
			if diff := cmp.Diff(test.want, withoutPadding(string(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// withoutPadding returns a text without the spaces at the ends of its lines.
func withoutPadding(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, " \r\n")
		out.WriteString(content + strings.TrimLeft(line[len(content):], " "))
	}
	return out.String()
}

func TestEditOfTemplate(t *testing.T) {
	const text = "{{ if .x }}\nmetadata:\n  a: true {{ .y }}\n  b: true\nspec:\n  c: true\n  d: true\n{{ end }}\n"
	for path, want := range map[string]string{
		"spec.c":     strings.Replace(text, "  c: true\n", "", 1),
		"spec.d":     strings.Replace(text, "  d: true\n", "", 1),
		"metadata.b": strings.Replace(text, "  b: true\n", "", 1),
		"metadata.a": "metadata.a: is beside an action of a template: cannot be edited without changing other text",
	} {
		documents := manifest.SplitTemplate("file", []byte(text))
		objects, err := documents[0].Objects()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		edited, err := objects[0].Edit(manifest.Edit{Action: manifest.Remove, Path: path})
		if err != nil {
			got = err.Error()
		} else {
			got = text[:documents[0].Start] + string(edited.Source()) + text[documents[0].End:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestPatches(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"all forms": {
			`{patches: [{path: a.yaml, target: {kind: A}}, b.yaml, {patch: "- op: add"}],
			patchesStrategicMerge: [c.yaml, "kind: A\nspec: {}"], patchesJson6902: [{path: d.json}, {patch: x}]}`,
			[]string{"a.yaml", "b.yaml", "c.yaml", "d.json"},
		},
		"none":             {`{resources: [a.yaml]}`, nil},
		"no list":          {`{patches: a.yaml}`, nil},
		"no kustomization": {`- a`, nil},
		"no YAML":          {`{`, nil},
	} {
		if diff := cmp.Diff(test.want, manifest.Patches([]byte(test.text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzSplitTemplate checks that the text without actions keeps its lines, and that documents are where they say.
func FuzzSplitTemplate(f *testing.F) {
	f.Add([]byte("{{- if .a }}\na: '{{ .b }}'\n---\nspec:\n  c: {{ .d }}\n{{ else }}\n{{ end }}\n"))
	f.Add([]byte("{{/* \n--- */}}\r\na: {{ \"}}\" }}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range manifest.SplitTemplate("file", data) {
			source := string(data[d.Start:d.End])
			if string(d.Source()) != source || len(d.Text) != len(source) || strings.Count(string(d.Text), "\n") != strings.Count(source, "\n") {
				t.Fatalf("%q is %q, with the source %q", source, d.Text, d.Source())
			}
		}
	})
}
