// Package lint finds everything in the file of a CustomResourceDefinition that the
// server would refuse or warn about, and escapes: ways to change an immutable field in
// two writes, each of which is allowed.
//
//	findings := lint.Check(ctx, object) // an object of package manifest
//
// The rules are those of package definition. This package adds to each of them an id, a
// place in the file, and the fix. A fix has edits only if they do not change the meaning of
// the definition.
package lint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
	"holdfast.dev/holdfast/schema"
)

// Syntax returns the finding for a document that cannot be read.
func Syntax(file string, err *manifest.SyntaxError) finding.Finding {
	return finding.Finding{
		Rule: syntaxRule, Severity: finding.Error, File: file, Position: err.Position, Message: err.Detail,
	}
}

// Check returns the findings about a definition, sorted by their place.
func Check(ctx context.Context, o manifest.Object) []finding.Finding {
	c := &check{object: o, name: source.Name(o)}
	def, err := source.Decode(o)
	if err != nil {
		var at *source.FieldError
		if errors.As(err, &at) {
			c.add(finding.Finding{Rule: fieldTypeRule, Severity: finding.Error, Path: at.Path, Message: at.Detail})
		}
		return c.found
	}
	c.unknown(def.Unknown)
	examined := def.Write.Examine(ctx, def.CustomResourceDefinition)
	for _, err := range examined.Errors {
		c.refused(def, err)
	}
	for _, w := range examined.Warnings {
		rule := warningRules[w.Topic]
		c.add(finding.Finding{Rule: rule.id, Severity: rule.severity, Path: w.Path, Message: w.Message, Fix: w.Fix})
	}
	c.annotationNames(def.Annotations)
	c.portable(def, examined.NotPortable)
	c.mend(def)
	finding.Sort(c.found)
	return c.found
}

// check collects the findings about one definition.
type check struct {
	object manifest.Object
	name   string
	found  []finding.Finding
}

// add adds a finding and sets its place.
func (c *check) add(f finding.Finding) {
	f.File, f.Object = c.object.File, c.name
	f.Position = c.object.Locate(f.Path)
	c.found = append(c.found, f)
}

// unknown reports keys that are no fields. The server drops them.
func (c *check) unknown(paths []string) {
	for _, path := range paths {
		f := finding.Finding{
			Rule: unknownFieldRule, Severity: finding.Error, Path: path,
			Message: "is no field: kubectl refuses it, and the server drops it",
		}
		name := path[strings.LastIndexByte(path, '.')+1:]
		if right := similar(name, schema.Keywords()); right != "" {
			f.Fix = fmt.Sprintf("write %s instead of %s", right, name)
		}
		c.add(f)
	}
}

// refused reports an error for which the server answers 422.
func (c *check) refused(def *source.Definition, err *field.Error) {
	f := finding.Finding{
		Rule: refusalRule(err.Field), Severity: finding.Error, Path: err.Field,
		Message: err.ErrorBody(),
	}
	if err.Field == annotationPath {
		f.Fix = misspelledLines(def.Annotations[immutability.Annotation])
	}
	c.add(f)
}

// annotationNames reports annotations whose name is almost that of the annotation with rules. The server ignores
// them.
func (c *check) annotationNames(annotations map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		isClose := similar(name, []string{immutability.Annotation}) != "" || strings.HasPrefix(name, "holdfast.dev/imm")
		if name != immutability.Annotation && isClose {
			c.add(finding.Finding{
				Rule: annotationNameRule, Severity: finding.Warning, Path: "metadata.annotations[" + name + "]",
				Message: "the server does not read this annotation, so it protects nothing",
				Fix:     fmt.Sprintf("write %s instead of %s", immutability.Annotation, name),
			})
		}
	}
}

// mend adds the fixes that do not change the meaning of the definition.
func (c *check) mend(def *source.Definition) {
	if len(c.found) == 0 {
		return
	}
	mends := safeEdits(def.CustomResourceDefinition)
	for i := range c.found {
		if mend := mends[c.found[i].Path]; mend != nil {
			c.found[i].Fix, c.found[i].Edits = mend.text, mend.edits
		}
	}
}

// portable reports what this server accepts and Kubernetes does not.
func (c *check) portable(def *source.Definition, errs field.ErrorList) {
	if def.Write.APIVersion == definition.V1beta1 {
		c.add(finding.Finding{
			Rule: v1beta1Rule, Severity: finding.Warning, Path: "apiVersion",
			Message: "Kubernetes does not serve apiextensions.k8s.io/v1beta1 since version 1.22",
			Fix:     "convert the definition to apiextensions.k8s.io/v1",
		})
		return
	}
	for _, err := range errs {
		if slices.ContainsFunc(c.found, func(f finding.Finding) bool { return f.Path == err.Field && f.Severity == finding.Error }) {
			continue
		}
		c.add(finding.Finding{
			Rule: notPortableRule, Severity: finding.Note, Path: err.Field,
			Message: err.ErrorBody() + " (in Kubernetes; this server accepts it)",
		})
	}
}
