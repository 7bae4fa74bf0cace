package definition

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// annotationPath is the path of the annotation that has markers as text.
func annotationPath() *field.Path {
	return field.NewPath("metadata", "annotations").Key(immutability.Annotation)
}

// Marks returns the markers of the annotation immutability.Annotation. The error names every line
// that is wrong; the marks are those of the other lines.
func (in *CustomResourceDefinition) Marks() ([]immutability.Mark, error) {
	text := in.Annotations[immutability.Annotation]
	if text == "" {
		return nil, nil
	}
	return immutability.ParseMarks(text)
}

// MarkedSchema decodes the schema of a version of the definition, and adds the markers of the
// annotation to it. Lines of the annotation that are wrong, and lines about fields that the schema
// does not have, are ignored: Validate and Warnings report them. The schema is nil if the version has
// none. The error is that of DecodeSchema.
func (in *CustomResourceDefinition) MarkedSchema(v *CustomResourceDefinitionVersion) (*schema.Schema, error) {
	s, _, err := v.DecodeSchema()
	if err != nil || s == nil {
		return nil, err
	}
	marks, _ := in.Marks()
	for _, m := range marks {
		if m.In(v.Name) {
			m.AddTo(s)
		}
	}
	return s, nil
}

// changesAnnotation reports whether the write changes the annotation with markers.
func (w Write) changesAnnotation(crd *CustomResourceDefinition) bool {
	return w.Old == nil || w.Old.Annotations[immutability.Annotation] != crd.Annotations[immutability.Annotation]
}

// validateAnnotation reports the lines of the annotation that are wrong, and those about fields that
// no version has, if the write changes the annotation.
func (w Write) validateAnnotation(crd *CustomResourceDefinition) field.ErrorList {
	if !w.changesAnnotation(crd) {
		return nil
	}
	if _, err := crd.Marks(); err != nil {
		return field.ErrorList{field.Invalid(annotationPath(), field.OmitValueType{}, err.Error())}
	}
	var errs field.ErrorList
	for _, m := range unknownMarks(crd) {
		errs = append(errs, field.Invalid(annotationPath(), field.OmitValueType{}, fmt.Sprintf("%s: no version has this field", m)))
	}
	return errs
}

// unknownMarks returns the marks of the annotation about fields that no version has. It ignores
// a definition with a schema that cannot be decoded.
func unknownMarks(crd *CustomResourceDefinition) []immutability.Mark {
	marks, _ := crd.Marks()
	if len(marks) == 0 {
		return nil // most definitions have no annotation, and to decode a schema takes long
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		s, _, err := v.DecodeSchema()
		if err != nil {
			return nil
		}
		marks = slices.DeleteFunc(marks, func(m immutability.Mark) bool { return m.In(v.Name) && m.AddTo(s) })
	}
	return marks
}

// validateMarkers validates the markers of a version. An error that only the markers of the
// annotation cause is about the annotation.
func validateMarkers(v *CustomResourceDefinitionVersion, path *field.Path, marked *schema.Schema) field.ErrorList {
	found := immutability.Validate(marked)
	if len(found) == 0 {
		return nil
	}
	var own schema.Errors
	if s, _, err := v.DecodeSchema(); err == nil {
		own = immutability.Validate(s)
	}
	errs := forbidden(path, own)
	for _, e := range found {
		if !slices.ContainsFunc(own, func(known *schema.Error) bool { return known.Error() == e.Error() }) {
			errs = append(errs, field.Forbidden(annotationPath(), fmt.Sprintf("version %s: %s", v.Name, e)))
		}
	}
	return errs
}

// AnnotationErrors returns the errors of the annotation with markers, as Validate reports them when
// the definition is created, in the same order.
func (in *CustomResourceDefinition) AnnotationErrors() field.ErrorList {
	errs := Write{APIVersion: V1}.validateAnnotation(in)
	for i := range in.Spec.Versions {
		v := &in.Spec.Versions[i]
		if s, err := in.MarkedSchema(v); err == nil && s != nil {
			errs = append(errs, validateMarkers(v, schemaPath(i), s)...)
		}
	}
	sortErrors(errs)
	return errs
}

// WithValidMarks returns a copy of the definition whose annotation has only markers without AnnotationErrors. A marker
// that is not valid in one version stays in the others. The copy shares its spec with the definition.
func (in *CustomResourceDefinition) WithValidMarks() *CustomResourceDefinition {
	marks, _ := in.Marks()
	// A marker about the keys of a list needs another one on the keys, which may be the next to go.
	for found := true; found; {
		found = false
		for i := range in.Spec.Versions {
			v := &in.Spec.Versions[i]
			for _, wrong := range v.invalidMarks(marks) {
				marks, found = in.withoutMark(marks, wrong, v.Name), true
			}
		}
	}
	out := *in
	out.Annotations = maps.Clone(in.Annotations)
	out.Annotations[immutability.Annotation] = immutability.FormatMarks(marks)
	unknown := unknownMarks(&out)
	marks = slices.DeleteFunc(marks, func(m immutability.Mark) bool {
		return slices.ContainsFunc(unknown, func(u immutability.Mark) bool { return u.String() == m.String() })
	})
	out.Annotations[immutability.Annotation] = immutability.FormatMarks(marks)
	return &out
}

// invalidMarks returns the marks that are not valid in a version.
func (v *CustomResourceDefinitionVersion) invalidMarks(marks []immutability.Mark) []immutability.Mark {
	s, _, err := v.DecodeSchema()
	if err != nil || s == nil {
		return nil
	}
	var there []immutability.Mark
	for _, m := range marks {
		if m.In(v.Name) && m.AddTo(s) {
			there = append(there, m)
		}
	}
	return immutability.InvalidMarks(s, there)
}

// withoutMark returns marks of which one no longer counts in a version.
func (in *CustomResourceDefinition) withoutMark(marks []immutability.Mark, wrong immutability.Mark, version string) []immutability.Mark {
	var out []immutability.Mark
	for _, m := range marks {
		if m.Marker == wrong.Marker && m.Path.Equal(wrong.Path) && m.In(version) {
			var others []string
			for i := range in.Spec.Versions {
				if name := in.Spec.Versions[i].Name; name != version && m.In(name) {
					others = append(others, name)
				}
			}
			if m.Versions = others; len(others) == 0 {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}
