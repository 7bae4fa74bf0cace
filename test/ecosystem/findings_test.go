package ecosystem_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition/change"
)

// findingsFile has a row for each finding of each upgrade, of every level, in the order of its columns. Its verdict was written after the
// finding was compared with both files. right means that the finding is true and has the right level: an error refuses an object that the
// old version accepts, drops a field or takes a resource away; a warning gives a request another effect; a note does neither. strict
// means that the level is too high, and wrong that the finding is not true, or that its level is too low.
const findingsFile = "testdata/findings.tsv"

// found is a row of the file without the verdict and its reason.
type found struct{ upgrade, definition, place, rule, level, change string }

func (f found) String() string {
	return strings.Join([]string{f.upgrade, f.definition, f.place, f.rule, f.level, f.change}, "\t")
}

// TestUpgradeFindings compares what schema diff finds with the rows of the file, and the table of docs/definitions.md with their sums.
func TestUpgradeFindings(t *testing.T) {
	var got, want []string
	for name, upgrade := range upgrades {
		updated := map[string]manifest{}
		for _, m := range readDefinitions(t, upgrade.to, upgrade.newCRDs) {
			updated[m.GetName()] = m
		}
		for _, m := range readDefinitions(t, upgrade.from, upgrade.oldCRDs) {
			changes := []change.Change{change.Removed(decode(t, m))}
			if newer, ok := updated[m.GetName()]; ok {
				changes = change.Compare(t.Context(), decode(t, m), decode(t, newer))
			}
			for _, c := range changes {
				text := strings.ReplaceAll(c.Message, "\n", `\n`)
				got = append(got, found{name, m.GetName(), c.Path, c.Rule, c.Severity.String(), text}.String())
			}
		}
	}
	sums := map[found]map[string]int{}
	for _, row := range readFindings(t) {
		want = append(want, row.found.String())
		of := found{upgrade: row.upgrade, rule: row.rule, level: row.level}
		if sums[of] == nil {
			sums[of] = map[string]int{}
		}
		sums[of][row.verdict]++
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", findingsFile, diff)
	}
	var table []string
	for of, verdicts := range sums {
		right, strict, wrong := verdicts["right"], verdicts["strict"], verdicts["wrong"]
		table = append(table, fmt.Sprintf("| %s | %s | `%s` | %d | %d | %d | %d |", of.upgrade, of.level, of.rule, right+strict+wrong, right, strict, wrong))
	}
	slices.Sort(table)
	compareTable(t, "| upgrade | level | finding | number | right | too strict | wrong |\n|---|---|---|---|---|---|---|\n", table)
}

// compareTable compares the rows of a table of docs/definitions.md.
func compareTable(t *testing.T, head string, want []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/definitions.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(page), head)
	rows, _, end := strings.Cut(after, "\n\n")
	if !ok || !end {
		t.Fatalf("docs/definitions.md lacks the table\n%s", head)
	}
	if diff := cmp.Diff(want, strings.Split(rows, "\n")); diff != "" {
		t.Errorf("the table in docs/definitions.md (-want +got):\n%s", diff)
	}
}

// judged is a row of the file.
type judged struct {
	found
	verdict, reason string
}

func readFindings(t *testing.T) []judged {
	t.Helper()
	data, err := os.ReadFile(findingsFile)
	if err != nil {
		t.Fatal(err)
	}
	var rows []judged
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != 8 {
			t.Fatalf("%s:%d: %d columns, want 8", findingsFile, i+1, len(cells))
		}
		if i == 0 {
			continue // the names of the columns
		}
		row := judged{found{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]}, cells[6], cells[7]}
		if !slices.Contains([]string{"right", "strict", "wrong"}, row.verdict) || row.reason == "" {
			t.Errorf("%s:%d: the verdict is %q, with the reason %q", findingsFile, i+1, row.verdict, row.reason)
		}
		rows = append(rows, row)
	}
	return rows
}
