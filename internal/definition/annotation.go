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
	marked, err := in.marked(v)
	return marked.Schema, err
}

// marked is MarkedSchema with the rules that no marker of the schema can say.
func (in *CustomResourceDefinition) marked(v *CustomResourceDefinitionVersion) (immutability.Marked, error) {
	s, _, err := v.DecodeSchema()
	if err != nil {
		return immutability.Marked{}, err
	}
	marks, _ := in.Marks()
	return immutability.AddMarks(s, v.Name, marks), nil
}

// noDelete returns the rules of the annotation about the deletion of objects, in a version.
func (in *CustomResourceDefinition) noDelete(version string) []immutability.Mark {
	marks, _ := in.Marks()
	return slices.DeleteFunc(marks, func(m immutability.Mark) bool { return !m.IsNoDelete() || !m.In(version) })
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
	return append(errs, validateConditions(crd)...)
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
		unknown := immutability.AddMarks(s, v.Name, marks).Unknown
		marks = slices.DeleteFunc(marks, func(m immutability.Mark) bool { return m.In(v.Name) && !contains(unknown, m) })
	}
	return marks
}

func contains(marks []immutability.Mark, m immutability.Mark) bool {
	return slices.ContainsFunc(marks, func(other immutability.Mark) bool { return other.String() == m.String() })
}

// validateMarkers validates the markers of a version: those of its schema, and those of the annotation.
func (in *CustomResourceDefinition) validateMarkers(v *CustomResourceDefinitionVersion, path *field.Path) field.ErrorList {
	own, _, err := v.DecodeSchema()
	if err != nil {
		return nil // the caller reports it
	}
	return in.validateMarkersOf(v, own, path)
}

// validateMarkersOf is validateMarkers with the schema that the version itself has.
func (in *CustomResourceDefinition) validateMarkersOf(v *CustomResourceDefinitionVersion, own *schema.Schema, path *field.Path) field.ErrorList {
	errs := forbidden(path, immutability.Validate(own))
	marks, _ := in.Marks()
	if len(marks) == 0 {
		return errs
	}
	marked := immutability.AddMarks(own, v.Name, marks)
	for _, m := range marks {
		if !m.In(v.Name) {
			continue
		}
		for _, e := range m.Validate(marked.Schema) {
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
		errs = append(errs, in.validateMarkers(v, schemaPath(i))...)
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
	if out.Annotations == nil { // the definition has just lost its annotation
		out.Annotations = map[string]string{}
	}
	out.Annotations[immutability.Annotation] = immutability.FormatMarks(marks)
	unknown := unknownMarks(&out)
	marks = slices.DeleteFunc(marks, func(m immutability.Mark) bool { return contains(unknown, m) })
	marks = slices.DeleteFunc(marks, func(m immutability.Mark) bool { return len(conditionErrors(&out, m)) > 0 })
	out.Annotations[immutability.Annotation] = immutability.FormatMarks(marks)
	return &out
}

// invalidMarks returns the marks that are not valid in a version.
func (v *CustomResourceDefinitionVersion) invalidMarks(marks []immutability.Mark) []immutability.Mark {
	s, _, err := v.DecodeSchema()
	if err != nil || s == nil {
		return nil
	}
	marked := immutability.AddMarks(s, v.Name, marks)
	return immutability.InvalidMarks(marked.Schema, slices.DeleteFunc(slices.Clone(marks), func(m immutability.Mark) bool { return !m.In(v.Name) }))
}

// withoutMark returns marks of which one no longer counts in a version.
func (in *CustomResourceDefinition) withoutMark(marks []immutability.Mark, wrong immutability.Mark, version string) []immutability.Mark {
	var out []immutability.Mark
	for _, m := range marks {
		if m.String() == wrong.String() && m.In(version) {
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
