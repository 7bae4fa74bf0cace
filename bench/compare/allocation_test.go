package compare

import (
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/holdfast/bench/side"
)

// The section about allocated memory has the rows that a run has measured, also after they were written and read. Without any, there is no
// section.
func TestAllocatedMemory(t *testing.T) {
	f := measured(Row{Section: "1 client", Name: "get", Unit: "ms"}, []float64{1}, []float64{2})
	if page := f.Markdown(nil); strings.Contains(page, "Allocated memory") {
		t.Errorf("figures without allocated memory: the page has the section:\n%s", page)
	}
	create := Row{Section: "1 client", Name: "create", Unit: "ms"}
	for i, values := range [][]float64{{61_000, 52_000, 58_000}, {580_000, 590_000, 570_000}} {
		for _, value := range values {
			f.add(create, i, Sample{Value: 1, Allocated: &side.Allocation{Bytes: value, Objects: value / 100}})
		}
	}
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := f.Write(file); err != nil {
		t.Fatal(err)
	}
	read, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	page := read.Markdown(nil)
	_, section, _ := strings.Cut(page, "\n## Allocated memory\n")
	var rows []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	want := []string{
		"| | Holdfast | objects | kube-apiserver | objects | ratio | ratio of objects |",
		"|---|---|---|---|---|---|---|",
		"| 1 client: create | 58.0 KB (52.0 to 61.0) | 580 | 580 KB (570 to 590) | 5800 | 0.10 | 0.10 |",
	}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("table\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A sample has enough requests for the allocated memory, however little work there is, unless there is none.
func TestRequests(t *testing.T) {
	for work, want := range map[float64][3]int{1: {500, 200, 10}, 0.5: {250, 200, 10}, 0.1: {200, 200, 10}, 0: {2, 2, 2}} {
		for i, full := range []int{500, 200, 10} {
			if got := (Settings{Work: work}).requests(requestRow{requests: full, clients: 1}); got != want[i] {
				t.Errorf("work %v of %d requests: %d, want %d", work, full, got, want[i])
			}
		}
	}
}
