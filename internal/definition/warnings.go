package definition

import (
	"fmt"
	"slices"

	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Warnings returns the warnings for a valid definition, the most important
// first: rules that the write removes or weakens, markers of the annotation for
// fields that it removes, protected fields that the storage version lacks, paths with different markers
// in served versions, markers that clients can get around, fields of the status
// that cannot be set later, formats that the server does not validate, and declared references at places that no version has. It
// omits warnings that the stored definition got already. Each warning is one
// line, for a Warning header.
func (w Write) Warnings(crd *CustomResourceDefinition) []string {
	versions := decodeVersions(crd)
	found, outdated := w.loosened(crd, versions)
	if !w.changesAnnotation(crd) {
		for _, m := range unknownMarks(crd) {
			if contains(outdated, m) {
				continue
			}
			found = append(found, fmt.Sprintf("%s: %s: no version has this field any more", annotationPath(), m))
		}
	}
	for _, lost := range lostFields(crd, nil) {
		found = append(found, lost+": a write through another version loses it")
	}
	var known []string
	if w.Old != nil {
		known = sent(schemaWarnings(w.Old, decodeVersions(w.Old)))
	}
	for _, warning := range sent(schemaWarnings(crd, versions)) {
		if !slices.Contains(known, warning) {
			found = append(found, warning)
		}
	}
	var out []string
	for _, warning := range found {
		if !slices.Contains(out, warning) {
			out = append(out, warning)
		}
	}
	return out
}

// schemaWarnings returns the warnings that do not depend on the stored
// definition.
func schemaWarnings(crd *CustomResourceDefinition, versions []readVersion) []Warning {
	var served []immutability.Version
	for i := range versions {
		if r := &versions[i]; r.schema != nil && crd.Spec.Versions[i].Served {
			served = append(served, immutability.Version{Name: r.name, Schema: r.schema})
		}
	}
	var found []Warning
	for _, divergence := range immutability.Divergent(served) {
		found = append(found, divergenceWarning(versions, divergence))
	}
	for i := range versions {
		r := &versions[i]
		if r.schema == nil {
			continue
		}
		for _, way := range escape.Find(r.schema) {
			found = append(found, escapeWarning(crd, r, way))
		}
		for _, warning := range markWarnings(crd, r) {
			isSame := func(other Warning) bool { return other.Path == warning.Path && other.line == warning.line }
			if !slices.ContainsFunc(found, isSame) { // several versions may have the rule
				found = append(found, warning)
			}
		}
		if s := crd.Spec.Versions[i].Subresources; s != nil && s.Status != nil {
			for _, trap := range immutability.StatusTraps(r.schema) {
				found = append(found, newWarning(StatusTrap, r, trap.Path, inVersion(crd, r.name, trap.String())))
			}
		}
	}
	for i := range versions {
		found = append(found, unknownFormats(&versions[i])...)
	}
	return append(found, referenceWarnings(crd, versions)...)
}

// inVersion adds the name of the version to a warning if the definition has more
// than one.
func inVersion(crd *CustomResourceDefinition, version, warning string) string {
	if len(crd.Spec.Versions) < 2 {
		return warning
	}
	return fmt.Sprintf("version %s: %s", version, warning)
}

func unknownFormats(r *readVersion) []Warning {
	var found []Warning
	schema.Walk(r.schema, func(v *schema.Visit) bool {
		if format := v.Schema.Format; format != "" && !ChecksFormat(v.Schema) {
			found = append(found, newWarning(UnknownFormat, r, v.Path.Child("format"), fmt.Sprintf("unrecognized format %q", format)))
		}
		return true
	})
	return found
}

// ChecksFormat reports whether the server checks the format of a schema.
func ChecksFormat(s *schema.Schema) bool {
	node := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
	return s.Format != "" && len(apiservervalidation.GetUnrecognizedFormats(node, environment.DefaultCompatibilityVersion())) == 0
}

// divergenceWarning places the warning at the first version that has a marker.
func divergenceWarning(versions []readVersion, d immutability.Divergence) Warning {
	marked := slices.IndexFunc(d.Markers, func(m immutability.VersionMarker) bool { return m.Marker != immutability.Free })
	at := slices.IndexFunc(versions, func(r readVersion) bool { return marked >= 0 && r.name == d.Markers[marked].Version })
	return newWarning(Divergence, &versions[max(at, 0)], d.Path, d.String())
}

func escapeWarning(crd *CustomResourceDefinition, r *readVersion, way escape.Escape) Warning {
	w := newWarning(topicOf(way), r, way.Field, inVersion(crd, r.name, way.String()))
	w.Message, w.way = way.Problem(), &way
	return w
}

func topicOf(way escape.Escape) Topic {
	switch {
	case way.Hole > escape.UntypedField:
		return ItemEscape
	case way.Rule != "":
		return RuleEscape
	}
	return Escape
}

func newWarning(topic Topic, r *readVersion, path *value.Path, line string) Warning {
	return Warning{
		Topic: topic, Path: below(schemaPath(r.index), path).String(),
		Message: withoutField(line, immutability.Field(path)), line: line,
	}
}
