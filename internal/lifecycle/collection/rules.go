package collection

import (
	"fmt"
	"strconv"
	"time"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/series"
)

// exempt returns why an object is not collected, whatever refers to it. It is empty if the object may be collected, unless it is one of the newest
// of its series.
func exempt(o, namespace *object) string {
	switch {
	case !o.immutable:
		return "it is not immutable"
	case !isSelected(o, namespace):
		return "neither it nor its namespace selects it by the label " + series.CollectLabel + ": " + series.CollectUnused
	case has(o, keep.Annotation):
		return "the annotation " + keep.Annotation + " keeps it"
	case o.controlled:
		return "it is left to the controller that owns it"
	case has(o, series.RecreatedAnnotation):
		return "it was created again after the server had deleted it, as the annotation " + series.RecreatedAnnotation + " says"
	}
	return ""
}

func has(o *object, annotation string) bool {
	_, ok := o.Annotations[annotation]
	return ok
}

// isSelected reports whether the label of an object selects it, or that of its namespace. That of the object counts more, so another value on
// the object lets it stay.
func isSelected(o, namespace *object) bool {
	if value, ok := o.Labels[series.CollectLabel]; ok {
		return value == series.CollectUnused
	}
	return o.Labels[series.Label] != "" && namespace.Labels[series.CollectLabel] == series.CollectUnused
}

// settings are what the annotations of an object and of its namespace say.
type settings struct {
	// after is how long no object refers to an object before it is marked.
	after time.Duration
	// keepLast is how many of the newest members of its series stay.
	keepLast int
}

// settingsOf reads the annotations. Those of the object count more than those of its namespace. The error names the annotation and its cause.
func settingsOf(o, namespace *object, atLeast time.Duration) (settings, error) {
	found := settings{after: series.DefaultAfter, keepLast: series.DefaultKeepLast}
	if text, where, ok := annotation(o, namespace, series.AfterAnnotation); ok {
		after, err := time.ParseDuration(text)
		if err != nil {
			return found, fmt.Errorf("%s: %q is not a duration such as 30m or 24h", where, cut(text))
		}
		found.after = after
	}
	if text, where, ok := annotation(o, namespace, series.KeepLastAnnotation); ok {
		count, err := strconv.Atoi(text)
		if err != nil || count < 0 {
			return found, fmt.Errorf("%s: %q is not a number of objects such as 3", where, cut(text))
		}
		found.keepLast = count
	}
	found.after = max(found.after, atLeast)
	return found, nil
}

// annotation returns the value of an annotation of an object, or of its namespace. where names it in errors.
func annotation(o, namespace *object, name string) (text, where string, ok bool) {
	if text, ok := o.Annotations[name]; ok {
		return text, "annotation " + name, true
	}
	text, ok = namespace.Annotations[name]
	return text, "annotation " + name + " of the namespace", ok
}

// maxShown is how many characters of a wrong value an Event shows.
const maxShown = 60

func cut(text string) string {
	if len(text) > maxShown {
		return text[:maxShown] + "..."
	}
	return text
}
