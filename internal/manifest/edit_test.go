package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/manifest"
)

func TestEdit(t *testing.T) {
	remove := func(path string) manifest.Edit { return manifest.Edit{Action: manifest.Remove, Path: path} }
	rename := func(path, name string) manifest.Edit {
		return manifest.Edit{Action: manifest.Rename, Path: path, Name: name}
	}
	add := func(path string) manifest.Edit {
		return manifest.Edit{Action: manifest.Add, Path: path, Name: "new", Value: true}
	}
	tests := map[string]struct {
		text string
		edit manifest.Edit
		want string // begins with "error: " for an edit that is refused
	}{
		"remove a line": {
			text: "# head\na:\n  # about b\n  b: false # gone\n\n  c: 1 # stays\n", edit: remove("a.b"),
			want: "# head\na:\n  # about b\n\n  c: 1 # stays\n",
		},
		"remove the last line": {text: "a: 1\nb: false", edit: remove("b"), want: "a: 1\n"},
		"remove the first in braces": {
			text: "a: {b: false, c: 1} # x\n", edit: remove("a.b"), want: "a: {c: 1} # x\n",
		},
		"remove the last in braces": {text: "a: {c: 1, b: false}\n", edit: remove("a.b"), want: "a: {c: 1}\n"},
		"remove the only in braces": {text: "a: {b: false}\n", edit: remove("a.b"), want: "a: {}\n"},
		"remove in json": {
			text: "{\n  \"a\": 1,\n  \"b\": false\n}\n", edit: remove("b"), want: "{\n  \"a\": 1\n}\n",
		},
		"remove an object":     {text: "a: {b: {c: 1}, d: 1}\n", edit: remove("a.b"), want: "error: cannot be edited"},
		"remove the only line": {text: "a:\n  b: false\n", edit: remove("a.b"), want: "error: cannot be edited"},
		"remove after a dash":  {text: "a:\n- b: false\n  c: 1\n", edit: remove("a[0].b"), want: "error: cannot be edited"},
		"remove in an anchor": {
			text: "a: &x\n  b: false\n  c: 1\nd: *x\n", edit: remove("d.b"), want: "error: is part of a YAML anchor",
		},
		"remove where others refer to it": {
			text: "a: &x\n  b: false\n  c: 1\nd: *x\n", edit: remove("a.b"), want: "error: cannot be edited",
		},
		"remove what is not there": {text: "a: 1\n", edit: remove("b"), want: "error: no such field"},
		"rename":                   {text: "a:\n  \"b\": 1 # x\n", edit: rename("a.b", "c"), want: "a:\n  \"c\": 1 # x\n"},
		"rename in braces":         {text: "ä: {b: 1}\n", edit: rename("ä.b", "c"), want: "ä: {c: 1}\n"},
		"rename to a field that is there": {
			text: "a: 1\nb: 2\n", edit: rename("a", "b"), want: "error: there is a field b already",
		},
		"add to lines":        {text: "a:\n  b: 1\n", edit: add("a"), want: "a:\n  new: true\n  b: 1\n"},
		"add after a dash":    {text: "a:\n- b: 1\n", edit: add("a[0]"), want: "a:\n- new: true\n  b: 1\n"},
		"add in braces":       {text: "a: {b: 1}\n", edit: add("a"), want: "a: {new: true, b: 1}\n"},
		"add to empty braces": {text: "a: {}\n", edit: add("a"), want: "a: {new: true}\n"},
		"add in json": {
			text: "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n", edit: add("a"),
			want: "{\n  \"a\": {\n    \"new\": true,\n    \"b\": 1\n  }\n}\n",
		},
		"add with windows lines": {text: "a:\r\n  b: 1\r\n", edit: add("a"), want: "a:\r\n  new: true\r\n  b: 1\r\n"},
		"add to a scalar":        {text: "a: 1\n", edit: add("a"), want: "error: cannot be edited"},
		"add what is there":      {text: "a: {new: 1}\n", edit: add("a"), want: "error: there is a field new already"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			document := manifest.Split("file.yaml", []byte(test.text))[0]
			edited, err := manifest.Object{Document: document}.Edit(test.edit)
			if message, refused := strings.CutPrefix(test.want, "error: "); refused {
				if err == nil || !strings.Contains(err.Error(), message) {
					t.Fatalf("got %v, want %q", err, message)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(edited.Text)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if string(document.Text) != test.text {
				t.Error("the document itself changed")
			}
		})
	}
}
