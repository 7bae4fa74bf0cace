package lint

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/immutability"
)

// similar returns the candidate that a name is a misspelling of, empty if there is none.
func similar(name string, candidates []string) string {
	best, limit := "", 4
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < limit && 3*d <= len(candidate)+2 {
			best, limit = candidate, d
		}
	}
	return best
}

// allConstraints is the set of all constraints.
const allConstraints = immutability.Immutable | immutability.ImmutableKeys

// misspelledLines returns the fix for lines of the annotation that begin with a misspelled word, empty if there
// are none.
func misspelledLines(text string) string {
	words := []string{"no-delete"}
	for m := immutability.NoSet; m <= allConstraints; m++ {
		if word := m.Word(); !strings.HasPrefix(word, "update=") {
			words = append(words, word)
		}
	}
	var fixes []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, err := immutability.ParseMark(line); err == nil || line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) > 1 && strings.HasSuffix(fields[0], ":") {
			fields = fields[1:]
		}
		if list, isSet := strings.CutPrefix(fields[0], "update="); isSet {
			fixes = append(fixes, misspelledConstraints(strings.Split(list, ","))...)
		} else if right := similar(fields[0], words); right != "" && right != fields[0] {
			fixes = append(fixes, fmt.Sprintf("write %s instead of %s", right, fields[0]))
		}
	}
	return strings.Join(fixes, "; ")
}

// misspelledConstraints returns a fix for each name that is almost that of a constraint.
func misspelledConstraints(names []string) []string {
	var fixes []string
	for _, name := range names {
		if right := similar(name, allConstraints.Constraints()); right != "" && right != name {
			fixes = append(fixes, fmt.Sprintf("write %s instead of %s", right, name))
		}
	}
	return fixes
}

// distance returns the number of characters to insert, remove or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
