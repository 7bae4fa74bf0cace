package compare

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// measured returns a result with one row, of which the sides have the given values.
func measured(row Row, holdfast, peer []float64) *Figures {
	r := &Figures{
		Settings: Full(), CPUs: 2, Sides: []SideName{{"Holdfast", "v1"}, {"kube-apiserver", "v2"}},
		Runs: []*StageRun{{Name: "requests", Seconds: 330, Complete: true}},
	}
	for i, values := range [][]float64{holdfast, peer} {
		for _, value := range values {
			r.add(row, i, Sample{Value: value, Wait: 7, Peak: 200})
		}
	}
	return r
}

// disturb makes the first samples of the first row disturbed.
func disturb(f *Figures, samples int) {
	for i := range samples {
		f.Lines[0].Samples[0][i].Others = 0.5
	}
}

func TestTable(t *testing.T) {
	update := Row{Section: "1 client", Name: "update", Unit: "ms", Goal: 0.1}
	tests := map[string]struct {
		row       Row
		disturbed int
		want      string
	}{
		"a quiet run shows how long clients wait": {
			row: update, want: "| update | 3.00 ms (2.00 to 9.00) | 7.00 ms | 200 MB | 30.0 ms (20.0 to 31.0) | 7.00 ms | 200 MB | 0.10 | 0.10 |",
		},
		"a disturbed run does not": {
			row: update, disturbed: 3,
			want: "| update | 3.00 ms (2.00 to 9.00) | 200 MB | 30.0 ms (20.0 to 31.0) | 200 MB | 0.10 | 0.10 |",
		},
		"a row without a goal": {
			row: Row{Section: "1 client", Name: "update", Unit: "ms"}, disturbed: 3,
			want: "| update | 3.00 ms (2.00 to 9.00) | 200 MB | 30.0 ms (20.0 to 31.0) | 200 MB | 0.10 |  |",
		},
		"a disturbed run leaves rows about waiting out": {
			row: Row{Section: "1 client", Name: "ready", Unit: waitUnit}, disturbed: 3,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := measured(test.row, []float64{9, 2, 3}, []float64{20, 31, 30})
			disturb(r, test.disturbed)
			lines := strings.Split(strings.TrimSpace(r.table("1 client")), "\n")
			if got := strings.Join(lines[2:], "\n"); got != test.want {
				t.Errorf("table\n%s\nwant\n%s", got, test.want)
			}
			for _, line := range lines {
				if strings.Count(line, "|") != strings.Count(lines[0], "|") {
					t.Errorf("line has other columns than the head:\n%s\n%s", lines[0], line)
				}
			}
		})
	}
}

// The page says so when the run was disturbed, and names the flags of the run.
func TestIntroduction(t *testing.T) {
	r := measured(Row{Section: "1 client", Name: "update", Unit: "ms"}, []float64{1}, []float64{2})
	if page := r.Markdown(nil); strings.Contains(page, "Other work ran") || !strings.Contains(page, "\n- `make bench-peer` (requests 5.5 min)\n") {
		t.Errorf("page of a quiet run:\n%s", page)
	}
	disturb(r, 1)
	r.Runs = append(r.Runs, &StageRun{Name: "fields", Flags: "-rounds=3", Seconds: 60})
	page := r.Markdown(map[string]string{"1 client": "benchmarks/1-client.svg"})
	for _, want := range []string{
		"Other work ran", "\n- `make bench-peer ARGS='-rounds=3'` (fields 1.0 min, not complete)\n", "![1 client](benchmarks/1-client.svg)",
		"Holdfast (v1) and on kube-apiserver (v2)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

// The page counts the goals and lists those that are not reached. A row without a goal does not count.
func TestGoals(t *testing.T) {
	r := measured(Row{Section: "1 client", Name: "update", Unit: "ms", Goal: 0.1}, []float64{3.1}, []float64{30})
	if page := r.Markdown(nil); !strings.Contains(page, "Goals reached: 1 of 1.\n\n## 1 client") {
		t.Errorf("a ratio that is shown as the goal:\n%s", page)
	}
	for side, value := range []float64{3, 10} {
		r.add(Row{Section: "memory", Name: "at rest", Unit: "MB", Goal: 0.2}, side, Sample{Value: value})
		r.add(Row{Section: "memory", Name: "no goal", Unit: "MB"}, side, Sample{Value: value})
		r.add(Row{Section: "1 client", Name: "memory afterwards", Unit: "MB"}, side, Sample{Value: value, Peak: 20})
	}
	page := r.Markdown(nil)
	if want := "Goals reached: 1 of 2.\n"; !strings.Contains(page, want) {
		t.Errorf("the page has no %q:\n%s", want, page)
	}
	if want := "| memory afterwards | 3.00 MB (3.00 to 3.00) |  | 20 MB | 10.0 MB (10.0 to 10.0) |  | 20 MB | 0.30 |  |"; !strings.Contains(page, want) {
		t.Errorf("a row in which nobody waits: the page has no %q:\n%s", want, page)
	}
	if want := "|---|---|---|---|\n| memory | at rest | 0.30 | 0.20 |\n\n"; !strings.Contains(page, want) {
		t.Errorf("the page has no %q:\n%s", want, page)
	}
}

// A plot is XML that can be read, with both values of each row.
func TestPlot(t *testing.T) {
	row := Row{Section: "1 client", Name: "list of <500>", Unit: "ms", Goal: 0.1}
	plot := measured(row, []float64{3}, []float64{30}).Plot("1 client")
	decoder := xml.NewDecoder(strings.NewReader(plot))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"3.00 ms", "30.0 ms", "list of &lt;500&gt;", `width="44"`, `width="440"`} {
		if !strings.Contains(plot, want) {
			t.Errorf("the plot has no %q:\n%s", want, plot)
		}
	}
}

// The mark of a goal does not cross the value of a shorter bar, long labels are wrapped and not cut, and a plot without goals does not
// explain the mark.
func TestPlotText(t *testing.T) {
	long := Row{Section: "memory", Name: "at rest after a start with 300 definitions that no client uses", Unit: "MB", Goal: 0.1}
	plot := measured(long, []float64{3}, []float64{100}).Plot("memory")
	for _, want := range []string{
		">at rest after a start with 300</text>", ">definitions that no client uses</text>", ">goal</text>",
		`<rect x="304" y="38" width="2"`, `<text x="312" y="52" font-size="12">3.00 MB</text>`,
	} {
		if !strings.Contains(plot, want) {
			t.Errorf("the plot has no %q:\n%s", want, plot)
		}
	}
	long.Goal = 0
	if plot := measured(long, []float64{3}, []float64{100}).Plot("memory"); strings.Contains(plot, "goal") {
		t.Errorf("a plot without goals explains the mark:\n%s", plot)
	}
}

// A disturbed sample is taken again, and the attempt with the least work of other processes counts.
func TestUndisturbed(t *testing.T) {
	tests := map[string]struct {
		others   []float64
		value    float64
		repeated int
	}{
		"quiet":                   {others: []float64{0.1}, value: 0},
		"quiet at the second":     {others: []float64{0.5, 0.05}, value: 1, repeated: 1},
		"never quiet":             {others: []float64{0.5, 0.3, 0.4}, value: 1, repeated: 2},
		"the first was the least": {others: []float64{0.3, 0.5, 0.4}, value: 0, repeated: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &runner{settings: Full()}
			attempt := 0
			got, err := r.undisturbed(func() ([]Sample, error) {
				attempt++
				quietOnes := Sample{Value: float64(attempt - 1)}
				return []Sample{quietOnes, {Value: float64(attempt - 1), Others: test.others[attempt-1]}}, nil
			})
			if err != nil || got[1].Value != test.value || got[1].Again != test.repeated {
				t.Errorf("attempt %v counts, taken again %d times, %v; want %+v", got[1].Value, got[1].Again, err, test)
			}
		})
	}
}

// A row can have a highest value beside a highest ratio. Each is a goal, and a note about a sample is below the table.
func TestLimit(t *testing.T) {
	row := Row{Section: "memory", Name: "definitions", Unit: "MB", Goal: 0.2, Limit: 1024}
	f := measured(row, []float64{1266}, []float64{17_184})
	f.Lines[0].Samples[1][0].Note = "more: the machine had no memory left"
	page := f.Markdown(nil)
	for _, want := range []string{
		"Goals reached: 1 of 2.\n", "| | | ratio or value | goal |\n|---|---|---|---|\n| memory | definitions | 1266 MB | 1024 MB |\n", "| 0.07 | 0.20, 1024 MB |\n",
		"\ndefinitions, kube-apiserver: more: the machine had no memory left.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	row.Goal = 0
	f = measured(row, []float64{1024}, []float64{0.5})
	if page := f.Markdown(nil); !strings.Contains(page, "Goals reached: 1 of 1.\n") || !strings.Contains(page, " | 1024 MB |\n") {
		t.Errorf("a value that is the highest:\n%s", page)
	}
	// The mark of the goal is at the end of the longer bar.
	if plot := f.Plot("memory"); !strings.Contains(plot, `<rect x="700" y="38" width="2"`) {
		t.Errorf("no mark at the end of the bar:\n%s", plot)
	}
}

// The figures of the repository, which an earlier version of the program may have written, give a page.
func TestEarlierFigures(t *testing.T) {
	f, err := Read("../../docs/benchmarks/figures.json")
	if err != nil {
		t.Fatal(err)
	}
	if page := f.Markdown(nil); !strings.Contains(page, "Goals reached: ") || strings.Contains(page, "NaN") {
		t.Errorf("the page:\n%s", page)
	}
}
