package kubectl_test

import (
	"regexp"
	"strings"
	"testing"
)

// ages are the headings of columns with a time.
var ages = map[string]bool{"AGE": true, "LAST SEEN": true, "FIRST SEEN": true, "CREATED AT": true}

var heading = regexp.MustCompile(`\S+( \S+)*`)

// normalizeTables rewrites kubectl's tables so that tables with the same cells
// are equal: it separates the cells with bars and replaces ages. Blank lines
// separate tables. A cell begins at the column of its heading.
func normalizeTables(text string) string {
	var out strings.Builder
	var headings [][]int
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		switch {
		case line == "":
			headings = nil
		case headings == nil:
			headings, names = heading.FindAllStringIndex(line, -1), heading.FindAllString(line, -1)
			line = strings.Join(names, " | ")
		default:
			line = strings.Join(cells(line, headings, names), " | ")
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func cells(line string, headings [][]int, names []string) []string {
	row := make([]string, len(headings))
	for i, at := range headings {
		end := len(line)
		if i+1 < len(headings) {
			end = min(end, headings[i+1][0])
		}
		if at[0] < end {
			row[i] = strings.TrimSpace(line[at[0]:end])
		}
		if ages[names[i]] && row[i] != "" {
			row[i] = "<age>"
		}
	}
	return row
}

func TestNormalizeTables(t *testing.T) {
	kubectl := `
NAME        READY   STATUS   AGE     NODE NAME
pod/first   1/1              3s      <none>
pod/b       0/1     Failed   2m10s   worker-1

NAME           DATA   AGE
configmap/cm   0      
`
	other := `
NAME        READY   STATUS   AGE   NODE NAME
pod/first   1/1              25s   <none>
pod/b       0/1     Failed   3s    worker-1

NAME           DATA   AGE
configmap/cm   0
`
	if got, want := normalizeTables(kubectl), normalizeTables(other); got != want {
		t.Errorf("equal but for ages, got\n%s\nand\n%s", got, want)
	}
	for old, changed := range map[string]string{"Failed": "Ready ", "3s": "  ", "worker-1": "worker-2", "READY": "RUNS "} {
		if normalizeTables(kubectl) == normalizeTables(strings.Replace(kubectl, old, changed, 1)) {
			t.Errorf("%q instead of %q makes no difference", changed, old)
		}
	}
}
