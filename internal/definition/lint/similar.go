package lint

import "holdfast.dev/holdfast/schema"

// similarKeyword returns the keyword of a schema that a name is a misspelling of, empty
// if there is none.
func similarKeyword(name string) string {
	best, limit := "", 4
	for _, keyword := range schema.Keywords() {
		if d := distance(name, keyword); d < limit && 3*d <= len(keyword)+2 {
			best, limit = keyword, d
		}
	}
	return best
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
