package references

import (
	"errors"
	"strings"

	"holdfast.dev/holdfast/value"
)

// everyTemplate is the line for all templates of pods in the schema of a definition.
const everyTemplate = "PodTemplate *"

var errTemplates = errors.New(everyTemplate + " stands for the templates of pods that the schema describes, and there is none: name the places instead")

// isEveryTemplate reports whether a line is everyTemplate.
func isEveryTemplate(line string) bool {
	return strings.Join(strings.Fields(line), " ") == everyTemplate
}

// Expand replaces the line "PodTemplate *" in rules by one for the spec of each template that the function finds. It calls the function only if there
// is such a line. If the function finds no template, the line stays, and Parse returns an error.
func Expand(text string, templates func() []*value.Path) string {
	if !strings.Contains(text, "*") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !isEveryTemplate(line) {
			continue
		}
		var specs []string
		for _, template := range templates() {
			specs = append(specs, "PodSpec "+template.Child("spec").String())
		}
		if len(specs) > 0 {
			lines[i] = strings.Join(specs, "\n")
		}
	}
	return strings.Join(lines, "\n")
}
