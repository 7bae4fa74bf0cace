package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/manifest"
)

func TestObjects(t *testing.T) {
	type object struct {
		line             int
		base, kind, json string
	}
	tests := map[string]struct {
		file string
		want []object
	}{
		"one object":   {file: "kind: A\n", want: []object{{1, "", "A", `{"kind":"A"}`}}},
		"json":         {file: "{\n\t\"kind\": \"A\"\n}", want: []object{{1, "", "A", `{"kind":"A"}`}}},
		"nothing":      {file: "# a comment\n---\n\n--- \n"},
		"no last line": {file: "kind: A", want: []object{{1, "", "A", `{"kind":"A"}`}}},
		"several documents": {
			file: "---\nkind: A\n--- # next\n# only a comment\n---\r\nkind: B\n---\n",
			want: []object{{2, "", "A", `{"kind":"A"}`}, {6, "", "B", `{"kind":"B"}`}},
		},
		"dashes in a text": {
			file: "kind: A\ntext: |\n  ---\n  x\nmore: ----\n",
			want: []object{{1, "", "A", `{"kind":"A","more":"----","text":"---\nx\n"}`}},
		},
		"a list": {
			file: "kind: List\nitems:\n- kind: A\n- {}\n",
			want: []object{{1, "items[0]", "A", `{"kind":"A"}`}, {1, "items[1]", "", `{}`}},
		},
		"a typed list":      {file: "kind: AList\nitems:\n- {}\n", want: []object{{1, "items[0]", "A", `{}`}}},
		"a list of no list": {file: "kind: AList\nitems: 3\n", want: []object{{1, "", "AList", `{"items":3,"kind":"AList"}`}}},
		"kubectl's booleans": {
			file: "kind: A\na: yes\nb: 0o17\nc: 012\n",
			want: []object{{1, "", "A", `{"a":true,"b":15,"c":10,"kind":"A"}`}},
		},
		"a byte order mark": {file: "\ufeffkind: A\n", want: []object{{1, "", "A", `{"kind":"A"}`}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []object
			for _, document := range manifest.Split("file.yaml", []byte(test.file)) {
				objects, err := document.Objects()
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range objects {
					got = append(got, object{document.Line, o.Base, o.Kind, string(o.JSON)})
				}
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(object{})); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	tests := map[string]struct{ file, want string }{
		"a scanner error":    {"kind: A\na: b: c\n", "line 2: mapping values are not allowed in this context"},
		"a parser error":     {"kind: A\na:\n- b\nc: [1,\n  2\nd: e\n", "line 6: did not find expected ',' or ']'"},
		"in a later file":    {"kind: A\n---\n# one\nkind: B\nb: 'x\n", "line 6: found unexpected end of stream"},
		"a template":         {"{{ if .Values.crds }}\nkind: A\n", "line 1: a key is an object: is this a template?"},
		"a scalar":           {"\n# comment\nhello\n", "line 3: this is no object"},
		"a list at the root": {"- a\n", "line 1: this is no object"},
		"an unknown anchor":  {"a: *b\n", "line 1: unknown anchor 'b' referenced"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got string
			for _, document := range manifest.Split("file.yaml", []byte(test.file)) {
				if _, err := document.Objects(); err != nil {
					got = err.Error()
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	document := manifest.Split("file.yaml", []byte("kind: A\na:\n  b: 1\n  c: 2\n  b:\n    3\nd: {e: 1, e: 2}\n"))[0]
	if _, err := document.Objects(); err != nil {
		t.Fatal(err)
	}
	want := []manifest.Duplicate{
		{Position: manifest.Position{Line: 5, Column: 3}, Key: "b"},
		{Position: manifest.Position{Line: 7, Column: 11}, Key: "e"},
	}
	if diff := cmp.Diff(want, document.Duplicates()); diff != "" {
		t.Errorf("duplicates (-want +got):\n%s", diff)
	}
}
