package definition

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// referencesPath is the path of the annotation that declares references to ConfigMaps and Secrets.
func referencesPath() *field.Path {
	return field.NewPath("metadata", "annotations").Key(references.Annotation)
}

// validateReferences reports the first line of the declared references that is wrong, if the write changes them. A value that was stored before
// stays: it counts as not declared.
func (w Write) validateReferences(crd *CustomResourceDefinition) field.ErrorList {
	text, ok := crd.Annotations[references.Annotation]
	if !ok || w.Old != nil && w.Old.Annotations[references.Annotation] == text {
		return nil
	}
	expanded, _ := crd.References()
	if _, err := references.Parse(expanded); err != nil {
		return field.ErrorList{field.Invalid(referencesPath(), field.OmitValueType{}, err.Error())}
	}
	return nil
}

// referenceWarnings returns a warning for each declared reference at a place that no version has, and for each pod template without containers.
func referenceWarnings(crd *CustomResourceDefinition, versions []readVersion) []Warning {
	text, _ := crd.References()
	if _, err := references.Parse(text); err != nil {
		return nil // it counts as not declared
	}
	var found []Warning
	for _, line := range references.Lines(text) {
		problem := ""
		switch {
		case !isInAny(versions, line.Place):
			problem = "no version has this field"
		case line.Containers != nil && !isInAny(versions, line.Containers):
			problem = "no version has containers there, so it is not that of pods"
		default:
			continue
		}
		message := fmt.Sprintf("%s: %s", line.Text, problem)
		found = append(found, Warning{
			Topic: UnknownReference, Path: referencesPath().String(), Message: message, Fix: "correct the path, or remove the line",
			line: fmt.Sprintf("%s: %s", referencesPath(), message),
		})
	}
	return found
}

// References returns the rules of the references that a definition declares, for references.Parse. declared is false if it has no such annotation. The
// line "PodTemplate *" is replaced by the places of the templates in the schemas of all versions.
func (in *CustomResourceDefinition) References() (rules string, declared bool) {
	text, declared := in.Annotations[references.Annotation]
	return references.Expand(text, func() []*value.Path {
		var all []*value.Path
		for _, v := range decodeVersions(in) {
			all = templates(v.schema, nil, all)
		}
		return all
	}), declared
}

// templates appends the places of the templates of pods in a schema, and leaves out those that are there.
func templates(s *schema.Schema, at *value.Path, all []*value.Path) []*value.Path {
	if s == nil {
		return all
	}
	if isTemplate(s) {
		if slices.ContainsFunc(all, at.Equal) {
			return all
		}
		return append(all, at)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all = templates(s.Properties[name], at.Child(name), all)
	}
	if s.AdditionalProperties != nil {
		all = templates(s.AdditionalProperties.Schema, at.Append(value.Step{Kind: value.AnyName}), all)
	}
	return templates(s.Items, at.Append(value.Step{Kind: value.AnyItem}), all)
}

// isTemplate reports whether a schema has the shape of a template of pods: the field spec with the list containers, whose items have a name and an
// image.
func isTemplate(s *schema.Schema) bool {
	spec := s.Properties["spec"]
	if spec == nil || spec.Properties["containers"] == nil {
		return false
	}
	container := spec.Properties["containers"].Items
	return container != nil && container.Properties["name"] != nil && container.Properties["image"] != nil
}

// isInAny reports whether a version may have a value at a place. A version without a schema may have any.
func isInAny(versions []readVersion, path *value.Path) bool {
	for i := range versions {
		if versions[i].schema == nil || mayHave(versions[i].schema, path.Steps()) {
			return true
		}
	}
	return false
}

// mayHave reports whether an object with a schema may have a value at a place.
func mayHave(s *schema.Schema, steps []value.Step) bool {
	if len(steps) == 0 {
		return true
	}
	step, rest := steps[0], steps[1:]
	switch {
	case schema.IsTrue(s.PreserveUnknownFields) || s.EmbeddedResource || s.Type == "" && s.Properties == nil && s.Items == nil:
		return true
	case step.Kind == value.AnyItem:
		return s.Items != nil && mayHave(s.Items, rest)
	case step.Kind == value.Name && s.Properties[step.Name] != nil:
		// The server knows the metadata of an object without its schema.
		return step.Name == "metadata" || mayHave(s.Properties[step.Name], rest)
	case step.Kind == value.Name && step.Name == "metadata":
		return true
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Allows && (s.AdditionalProperties.Schema == nil || mayHave(s.AdditionalProperties.Schema, rest))
	case step.Kind == value.AnyName:
		for _, property := range s.Properties {
			if mayHave(property, rest) {
				return true
			}
		}
	}
	return false
}
