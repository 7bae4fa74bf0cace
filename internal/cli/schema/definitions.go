package schema

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
)

// contents is what a file has for a command that reads definitions.
type contents struct {
	definitions []manifest.Object
	skipped     []finding.Skipped
	// documents are those that may have definitions, and were not skipped.
	documents []*manifest.Document
	// wrong are the documents that are neither YAML nor templates.
	wrong []*manifest.SyntaxError
}

// definitionReader reads the definitions of files. It skips patches and templates.
type definitionReader struct {
	// patches are the files that a kustomization lists as patches.
	patches map[string]bool
}

// read returns the contents of a file. In a file that no argument names, it ignores documents that do not mention
// definitions: a directory may have files of other programs.
func (r definitionReader) read(input manifest.Input, data []byte) contents {
	var found contents
	name := displayName(input)
	for _, document := range manifest.SplitTemplate(name, data) {
		isMentioned := bytes.Contains(document.Text, []byte(definition.Kind.Kind))
		if !isMentioned && !input.Explicit {
			continue
		}
		skip := func(as finding.SkippedAs, reason string) {
			found.skipped = append(found.skipped, finding.Skipped{As: as, File: name, Line: document.Locate("").Line, Reason: reason})
		}
		if r.patches[input.Name] {
			skip(finding.Patch, "a kustomization lists the file as a patch")
			continue
		}
		objects, err := document.Objects()
		if err != nil {
			var syntax *manifest.SyntaxError
			switch {
			case document.IsTemplate():
				skip(finding.Template, "it is not YAML without the template actions in its metadata: "+err.Error())
			case errors.As(err, &syntax) && (input.Explicit || syntax.Detail != manifest.NoObject):
				found.wrong = append(found.wrong, syntax)
			}
			continue
		}
		whole := 0
		for _, o := range objects {
			switch {
			case !source.IsDefinition(o):
				whole++
			case source.IsPatch(o):
				skip(finding.Patch, "it has neither spec.group nor spec.names nor spec.versions")
			case document.IsTemplate() && source.Name(o) == "":
				skip(finding.Template, "it has no name without the template actions in its metadata")
			default:
				whole++
				found.definitions = append(found.definitions, o)
			}
		}
		if whole > 0 && isMentioned {
			found.documents = append(found.documents, document)
		}
	}
	return found
}

// newDefinitionReader returns a reader for files on disk. It reads the kustomizations in the directories of the files, and
// in those above them: the patches of a kustomization are mostly in a directory below it.
func newDefinitionReader(inputs []manifest.Input) definitionReader {
	listed, visited := map[string]bool{}, map[string]bool{}
	r := definitionReader{patches: map[string]bool{}}
	for _, input := range inputs {
		name, err := filepath.Abs(input.Name)
		if err != nil || input.Name == manifest.Stdin {
			continue
		}
		for dir := filepath.Dir(name); !visited[dir]; dir = filepath.Dir(dir) {
			visited[dir] = true
			for _, kustomization := range manifest.KustomizationNames {
				// A file that cannot be read lists no patches.
				text, err := os.ReadFile(filepath.Join(dir, kustomization))
				if err != nil {
					continue
				}
				for _, patch := range manifest.Patches(text) {
					listed[filepath.Join(dir, patch)] = true
				}
			}
		}
	}
	for _, input := range inputs {
		if name, err := filepath.Abs(input.Name); err == nil && listed[name] && input.Name != manifest.Stdin {
			r.patches[input.Name] = true
		}
	}
	return r
}

// definitions are what a command has read.
type definitions struct {
	all     []*source.Definition
	skipped []finding.Skipped
}

// readDefinitions reads the definitions that arguments name. It is an error if there is none.
func readDefinitions(cmd *cobra.Command, args []string) (definitions, error) {
	inputs, err := manifest.Expand(args)
	if err != nil {
		return definitions{}, err
	}
	reader := newDefinitionReader(inputs)
	files, err := each(cmd, inputs, func(_ context.Context, input manifest.Input, data []byte) (contents, error) {
		return reader.read(input, data), nil
	})
	if err != nil {
		return definitions{}, err
	}
	var found definitions
	for i, file := range files {
		if err := found.add(displayName(inputs[i]), file); err != nil {
			return definitions{}, err
		}
	}
	if len(found.all) == 0 {
		return definitions{}, noDefinition(args, found.skipped)
	}
	return found, nil
}

// add decodes the definitions of a file.
func (d *definitions) add(name string, file contents) error {
	d.skipped = append(d.skipped, file.skipped...)
	for _, wrong := range file.wrong {
		return fmt.Errorf("%s:%d: %s", name, wrong.Line, wrong.Detail)
	}
	for _, o := range file.definitions {
		def, err := source.Decode(o)
		if err != nil {
			var wrong *source.FieldError
			path := ""
			if errors.As(err, &wrong) {
				path = wrong.Path
			}
			return fmt.Errorf("%s: %w", at(o, path), err)
		}
		d.all = append(d.all, def)
	}
	return nil
}

// maxNamed is the number of skipped documents that an error names.
const maxNamed = 10

// noDefinition returns the error for arguments that name no definition.
func noDefinition(args []string, skipped []finding.Skipped) error {
	text := "no CustomResourceDefinition in " + strings.Join(args, ", ")
	if len(skipped) > 0 {
		text += "; skipped " + finding.SkippedText(skipped) + ":"
	}
	for i, s := range skipped {
		if i == maxNamed {
			text += "\n  and others"
			break
		}
		text += "\n  " + skippedLine(s)
	}
	return errors.New(text)
}

// skippedLine describes a skipped document.
func skippedLine(s finding.Skipped) string {
	return fmt.Sprintf("%s:%d: skipped as a %s: %s", s.File, s.Line, s.As, s.Reason)
}
