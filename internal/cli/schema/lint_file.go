package schema

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"holdfast.dev/holdfast/internal/definition/lint"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
)

// lint returns the findings of one file.
func (l *linting) lint(ctx context.Context, input manifest.Input, data []byte) linted {
	file := l.reader.read(input, data)
	result := linted{definitions: len(file.definitions), skipped: file.skipped}
	for _, wrong := range file.wrong {
		result.findings = append(result.findings, lint.Syntax(displayName(input), wrong))
	}
	// Duplicate keys may hide a definition: if two files are joined without a separator, the
	// decoder takes the keys of the second.
	for _, document := range file.documents {
		result.findings = append(result.findings, lint.Duplicates(document)...)
	}
	for _, o := range file.definitions {
		result.findings = append(result.findings, lint.Check(ctx, o)...)
	}
	result.findings = l.shown(result.findings)
	finding.Sort(result.findings)
	return result
}

// mend returns the text of a file with the edits of its findings, and the number of edits.
// It leaves out an edit that is not possible without changing other text.
func mend(name string, data []byte, findings []finding.Finding) ([]byte, int) {
	documents := manifest.SplitTemplate(name, data)
	changes := 0
	// From the last document to the first, so that the offsets of the others stay valid.
	for _, document := range slices.Backward(documents) {
		objects, err := document.Objects()
		if err != nil {
			continue
		}
		edited := document
		for _, o := range objects {
			for _, e := range editsOf(o, findings) {
				o.Document = edited
				if changed, err := o.Edit(e); err == nil {
					edited = changed
					changes++
				}
			}
		}
		data = bytes.Join([][]byte{data[:document.Start], edited.Source(), data[document.End:]}, nil)
	}
	return data, changes
}

// editsOf returns the edits for an object, without duplicates. A finding belongs to an
// object if it is at the place that its path has in the object.
func editsOf(o manifest.Object, findings []finding.Finding) []manifest.Edit {
	var edits []manifest.Edit
	for _, f := range findings {
		if len(f.Edits) == 0 || o.Locate(f.Path) != f.Position {
			continue
		}
		for _, e := range f.Edits {
			if !slices.ContainsFunc(edits, func(other manifest.Edit) bool { return reflect.DeepEqual(e, other) }) {
				edits = append(edits, e)
			}
		}
	}
	return edits
}

// overwrite replaces the contents of a file. It writes a new file and renames it, so that a
// full disk does not lose the old contents.
func overwrite(name string, data []byte) error {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(target), ".holdfast-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(data)
	if err := errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), target); err != nil {
		return err
	}
	return nil
}
