package references

import (
	"strings"

	"holdfast.dev/holdfast/value"
)

// Line is a rule as it was written.
type Line struct {
	Text string
	// Place is the place of the reference, or of the template or the spec of a pod.
	Place *value.Path
	// Containers is the place of the containers of a template or a spec of pods, nil for another rule.
	Containers *value.Path
}

// Lines returns the rules in a text that Parse accepts.
func Lines(text string) []Line {
	var lines []Line
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || strings.HasPrefix(words[0], "#") {
			continue
		}
		place, err := value.ParsePattern(words[1])
		if err != nil {
			continue
		}
		l := Line{Text: strings.Join(words, " "), Place: place}
		switch words[0] {
		case "PodTemplate":
			l.Containers = place.Child("spec").Child("containers")
		case "PodSpec":
			l.Containers = place.Child("containers")
		}
		lines = append(lines, l)
	}
	return lines
}
