package parameters

import (
	"fmt"
	"strings"
)

// Suggestion returns a question about the known name that is most like an unknown one, to be put
// at the end of an error: ": did you mean NODE_COUNT?". It is empty if no name is similar. Case,
// underscores, dashes and dots do not count.
func Suggestion(name string, known []string) string {
	wanted := plain(name)
	// A third of the letters may be wrong, and one letter of a short name.
	best, least := "", max(1, len(wanted)/3)+1
	for _, each := range known {
		if wrong := distance(wanted, plain(each)); wrong < least && wrong < len(wanted) {
			best, least = each, wrong
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// plain returns a name without the differences that do not count.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name))
}

// distance returns the number of bytes that must be inserted, removed, replaced or exchanged with
// the next one to turn one text into the other.
func distance(a, b string) int {
	// rows[i][j] is the distance of the first i bytes of a and the first j bytes of b.
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
