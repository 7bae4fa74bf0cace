package manifest_test

import (
	"testing"

	"holdfast.dev/holdfast/internal/manifest"
)

// FuzzDocument reads any text, looks for a path in it, and edits it. Edit itself compares
// the values before and after.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(located), "spec.versions[0].name", uint8(0))
	f.Add([]byte("a: &a {<<: *a, b: 1}\n"), "a.c", uint8(1))
	f.Add([]byte("\ufeffa: {b: 1}\r\n---\n- 1"), "a", uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, path string, action uint8) {
		end := 0
		for _, document := range manifest.Split("file", data) {
			if document.Start < end || document.End < document.Start || document.End > len(data) {
				t.Fatalf("document from %d to %d of %d", document.Start, document.End, len(data))
			}
			end = document.End
			objects, err := document.Objects()
			if err != nil {
				continue
			}
			document.Duplicates()
			for _, o := range objects {
				if at := o.Locate(path); at.Line < document.Line || at.Column < 1 {
					t.Fatalf("%q is at %v", path, at)
				}
				edit := manifest.Edit{Action: manifest.Action(action % 3), Path: path, Name: "new"}
				if edited, err := o.Edit(edit); err == nil {
					if _, err := edited.Objects(); err != nil {
						t.Fatalf("%v in %q", err, edited.Text)
					}
				}
			}
		}
	})
}
