package compare

import (
	"fmt"
	"math"
	"strings"
)

// goals returns the section that counts the goals and lists those that are not reached. It is empty for a run without goals.
func (f *Figures) goals() string {
	all, column := 0, "ratio"
	var missed strings.Builder
	for _, l := range f.Lines {
		if !f.shows(l) {
			continue
		}
		// A ratio that the tables show as equal to the goal reaches it.
		if ratio, ok := l.ratio(); ok && l.Goal > 0 {
			all++
			if math.Round(100*ratio) > math.Round(100*l.Goal) {
				fmt.Fprintf(&missed, "| %s | %s | %.2f | %.2f |\n", l.Section, l.Name, ratio, l.Goal)
			}
		}
		if value := l.medians()[0]; l.Limit > 0 {
			all, column = all+1, "ratio or value"
			if value > l.Limit {
				fmt.Fprintf(&missed, "| %s | %s | %s | %s |\n", l.Section, l.Name, format(l.Row, value), format(l.Row, l.Limit))
			}
		}
	}
	if all == 0 {
		return ""
	}
	rows := missed.String()
	section := fmt.Sprintf("\n## Goals\n\nGoals reached: %d of %d.\n", all-strings.Count(rows, "\n"), all)
	if rows == "" {
		return section
	}
	return section + `
These are not reached. [profiles.md](profiles.md) shows where their time and memory go.

| | | ` + column + ` | goal |
|---|---|---|---|
` + rows
}
