package definition

import (
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
)

// PolicyEscapes returns a warning for each way around the rules of a policy that holds for the objects of the definition, as Warnings
// does for the rules of the definition itself. It leaves out rules that have no effect, and ways around the rules of the definition.
func (in *CustomResourceDefinition) PolicyEscapes(marks []immutability.Mark) []string {
	own, _ := in.Marks()
	both := *in
	both.Annotations = maps.Clone(in.Annotations)
	if both.Annotations == nil {
		both.Annotations = map[string]string{}
	}
	both.Annotations[immutability.Annotation] = immutability.FormatMarks(slices.Concat(own, marks))
	guarded := both.WithValidMarks()
	var found []string
	for i := range in.Spec.Versions {
		known := in.escapes(&in.Spec.Versions[i])
		for _, way := range guarded.escapes(&guarded.Spec.Versions[i]) {
			isKnown := slices.ContainsFunc(known, func(other escape.Escape) bool { return other.String() == way.String() })
			line := inVersion(in, in.Spec.Versions[i].Name, fmt.Sprintf("%s: %s; the rule %q closes this",
				immutability.Field(way.Field), way.Problem(), way.Line()))
			if !isKnown && !slices.Contains(found, line) {
				found = append(found, line)
			}
		}
	}
	for _, m := range marks {
		if isReplaceable(m) {
			found = append(found, fmt.Sprintf("%s: it can be removed and then set again with another value; write set-once to prevent this", m))
		}
	}
	return found
}

// escapes returns the ways around the markers of a version that the server warns about.
func (in *CustomResourceDefinition) escapes(v *CustomResourceDefinitionVersion) []escape.Escape {
	marked, err := in.marked(v)
	if err != nil {
		return nil
	}
	found := escape.Find(marked.Schema)
	for _, m := range marked.Layers {
		found = append(found, escape.FindMark(marked.Schema, m)...)
	}
	return slices.DeleteFunc(found, func(way escape.Escape) bool { return topicOf(way) != Escape })
}
