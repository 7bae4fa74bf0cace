package ownership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SeriesManagerPrefix begins the field managers of the command `holdfast series`. The name of the series follows. A field of such a manager
// is a reference to a ConfigMap or a Secret, or a list or map around references.
const SeriesManagerPrefix = "holdfast-series-"

// seriesOf returns the series of a field manager, "" if the manager is not that of one.
func seriesOf(manager string) string {
	series, found := strings.CutPrefix(manager, SeriesManagerPrefix)
	if !found || series == "" {
		return ""
	}
	return name(series)
}

// rollOf returns the command that sets the references to a series.
func rollOf(series string) string { return "`holdfast series roll " + series + "`" }

// setBack explains that an apply sets a reference back.
func (f *Finding) setBack(series string, is shown) string {
	at, keep := "", "this field as the object has it now"
	if !f.LastSet.Time.IsZero() {
		at = " at " + f.LastSet.Time.UTC().Format(time.RFC3339)
	}
	if name, isName := f.Live.(string); isName && is.live != concealed {
		keep = fmt.Sprintf("%q", printable(name))
	}
	return fmt.Sprintf("%s (or rollback) set it%s, and the manifest sets it back.  To keep it, write %s into the manifest.",
		rollOf(series), at, keep)
}

// setBackMany explains that an apply sets several references back, "" if there are none among the findings.
func setBackMany(group []*Finding) string {
	var commands []string
	for _, f := range group {
		if series := seriesOf(f.LastSet.Name); series != "" && !slices.Contains(commands, rollOf(series)) {
			commands = append(commands, rollOf(series))
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return fmt.Sprintf("  %s (or rollback) set references among them, and the manifest sets them back.  "+
		"To keep them, write the names that the object has now into the manifest.", strings.Join(commands, " and "))
}

// ConflictWarnings returns warnings about the conflicts of a server-side apply with the managers of series. A conflict names the manager and
// the field only; these lines say how it came about, and what to do. kubectl prints equal warnings of one command once, so they have the object.
func ConflictWarnings(object string, causes []metav1.StatusCause) []string {
	b := budget{resource: printable(object)}
	for i, cause := range causes {
		_, rest, _ := strings.Cut(cause.Message, `conflict with "`)
		manager, _, _ := strings.Cut(rest, `"`)
		series := seriesOf(manager)
		if cause.Type != metav1.CauseTypeFieldManagerConflict || series == "" {
			continue
		}
		line := fmt.Sprintf("%s (or rollback) set %s %s, and the manifest would set it back.  Write the name that the object has now into "+
			"the manifest, or set it back with --force-conflicts.", rollOf(series), printable(object), printable(cause.Field))
		if !b.add(line, len(causes)-i) {
			break
		}
	}
	return b.lines
}
