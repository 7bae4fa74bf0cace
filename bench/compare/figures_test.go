package compare

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestWriteAndRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "benchmarks", "figures.json")
	none, err := Read(file)
	if err != nil || len(none.Lines) > 0 {
		t.Fatalf("without a file: %v, %v", none, err)
	}
	want := measured(Row{Stage: "requests", Section: "1 client", Name: "update", Unit: "ms", Goal: 0.1}, []float64{1, 2}, []float64{3})
	want.Settings = Settings{Rounds: 5, Others: 0.1, Fields: 195, Growth: []int{10}, Objects: []int{1000}, Definitions: []int{300}}
	if err := want.Write(file); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	if empty, err := (&Figures{}).encode(); err != nil || !json.Valid(empty) {
		t.Errorf("no figures: %s, %v", empty, err)
	}
	incomplete := measured(Row{Stage: "requests", Section: "1 client", Name: "update", Unit: "ms"}, []float64{1}, nil)
	if err := incomplete.Write(file); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), `"1 client: update" has no sample`) {
		t.Errorf("figures without a sample of the peer: %v", err)
	}
}

// A stage that is run again replaces its rows where they are, adds new ones after them, and leaves the rows of other stages alone. A row
// that the run did not finish stays as it was.
func TestMerge(t *testing.T) {
	row := func(stage, name string) Row { return Row{Stage: stage, Section: stage, Name: name, Unit: "ms"} }
	old := measured(row("requests", "create"), []float64{1}, []float64{1})
	for i := range old.Sides {
		old.add(row("requests", "get"), i, Sample{Value: 2})
		old.add(row("objects", "list"), i, Sample{Value: 3})
	}
	newer := measured(row("requests", "get"), []float64{20}, []float64{20})
	newer.add(row("requests", "create"), 0, Sample{Value: 10})
	newer.add(row("fields", "create"), 0, Sample{Value: 40})
	newer.add(row("fields", "create"), 1, Sample{Value: 40})
	old.Runs = append(old.Runs, &StageRun{Name: "fields"})
	newer.Runs = []*StageRun{{Name: "requests", Flags: "-stages=requests"}, {Name: "fields", Flags: "-stages=requests", Complete: true}}
	newer.CPUs, newer.Sides[0].Version = 4, "v3"
	merged, err := old.Merge(newer)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, l := range merged.Lines {
		rows = append(rows, l.title()+" "+number(l.medians()[0]))
	}
	want := "requests: create 1.00, requests: get 20.0, fields: create 40.0, objects: list 3.00"
	if got := strings.Join(rows, ", "); got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
	if merged.CPUs != 4 || merged.Sides[0].Version != "v3" || len(merged.Runs) != 3 || !merged.Runs[2].Complete {
		t.Errorf("merged: %d CPUs, sides %v, %d stages", merged.CPUs, merged.Sides, len(merged.Runs))
	}
	if len(old.Lines) != 3 || old.Lines[1].medians()[0] != 2 {
		t.Errorf("Merge changed the old figures: %+v", old.Lines[1])
	}
	newer.add(row("requests", "create"), 1, Sample{Value: 10})
	newer.Runs[0].Complete = true
	if merged, err = old.Merge(newer); err != nil || len(merged.Runs) != 2 || merged.Runs[0].Flags != "-stages=requests" {
		t.Errorf("after a run of all rows of a stage, the runs are %v, %v", merged.Runs, err)
	}
	newer.Sides = newer.Sides[:1]
	if _, err := old.Merge(newer); err == nil {
		t.Error("figures of one side were merged into those of two")
	}
}

// The numbers in the names of rows are found, in their order and not in that of the rows.
func TestPoints(t *testing.T) {
	f := measured(Row{Section: "objects", Name: "memory after a list of 10000 objects"}, []float64{5}, []float64{9})
	for i := range f.Sides {
		f.add(Row{Section: "objects", Name: "memory after a list of 1000 objects"}, i, Sample{Value: 2})
		f.add(Row{Section: "objects", Name: "CPU time of a create, up to 1000 objects"}, i, Sample{Value: 7})
	}
	points, err := f.Points("objects", "memory after a list of # objects")
	if want := []Point{{N: 1000, Value: 2}, {N: 10000, Value: 5}}; err != nil || !reflect.DeepEqual(points, want) {
		t.Errorf("points %v, %v; want %v", points, err, want)
	}
	if _, err := f.Points("objects", "no # such row"); err == nil || !strings.Contains(err.Error(), "no # such row") {
		t.Errorf("no such row: %v", err)
	}
}

// The help of the flag has each stage with its time, and the sum of the default run.
func TestStageHelp(t *testing.T) {
	help := StageHelp()
	for _, name := range StageNames() {
		if !strings.Contains(help, "  "+name+", about ") {
			t.Errorf("no line about the stage %s:\n%s", name, help)
		}
	}
}
