package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Figures are the samples of one or more runs. The report and its plots are made from them.
type Figures struct {
	// CPUs is the number of CPUs of the machine.
	CPUs  int         `json:"cpus"`
	Sides []SideName  `json:"sides"`
	Runs  []*StageRun `json:"stages"`
	// Settings are those of the last run.
	Settings Settings `json:"settings"`
	Lines    []*Line  `json:"rows"`
}

// SideName is a side, with what its server answers for /version.
type SideName struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// StageRun is a stage that was run.
type StageRun struct {
	Name string `json:"name"`
	// Flags are the flags of the run, and Seconds is how long the stage took. Complete says that no error ended it.
	Flags    string  `json:"flags,omitempty"`
	Seconds  float64 `json:"seconds"`
	Complete bool    `json:"complete"`
}

// Line is a row with its samples, by side.
type Line struct {
	Row
	Samples [][]Sample `json:"samples"`
}

// Read reads figures from a file. Without the file, there are none.
func Read(file string) (*Figures, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return &Figures{}, nil
	}
	if err != nil {
		return nil, err
	}
	f := &Figures{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, l := range f.Lines {
		if !l.complete(len(f.Sides)) {
			return nil, fmt.Errorf("%s: the row %q has no sample of some side", file, l.title())
		}
	}
	return f, nil
}

// Write writes the figures to a file, with a line for each row. A reader of the file sees the old figures or the new ones.
func (f *Figures) Write(file string) error {
	text, err := f.encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	next := file + ".next"
	if err := os.WriteFile(next, text, 0o644); err != nil {
		return err
	}
	return os.Rename(next, file)
}

// encode returns the figures as JSON, with each row on a line of its own, so that a change of one row is a change of one line.
func (f *Figures) encode() ([]byte, error) {
	head := *f
	head.Lines = []*Line{}
	text, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return nil, err
	}
	const empty = "[]\n}"
	text = text[:len(text)-len(empty)]
	for i, l := range f.Lines {
		row, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		separator := ",\n    "
		if i == 0 {
			separator = "[\n    "
		}
		text = append(append(text, separator...), row...)
	}
	if len(f.Lines) == 0 {
		return append(text, empty+"\n"...), nil
	}
	return append(text, "\n  ]\n}\n"...), nil
}

// Merge returns these figures with the stages and rows of newer ones, which replace those of the same name.
func (f *Figures) Merge(newer *Figures) (*Figures, error) {
	if len(f.Lines) == 0 {
		return newer.complete(), nil
	}
	names := func(sides []SideName) (all []string) {
		for _, s := range sides {
			all = append(all, s.Name)
		}
		return all
	}
	if !slices.Equal(names(f.Sides), names(newer.Sides)) {
		return nil, fmt.Errorf("the figures are of %q, and the new ones of %q", names(f.Sides), names(newer.Sides))
	}
	merged := &Figures{
		CPUs: newer.CPUs, Sides: newer.Sides, Settings: newer.Settings, Runs: slices.Clone(f.Runs), Lines: slices.Clone(f.Lines),
	}
	for _, run := range newer.Runs {
		// A run that ended early needs no mention when the stage was run again, and neither does one of which no row is left.
		replaced := f.isReplaced(run.Name, newer.complete())
		merged.Runs = slices.DeleteFunc(merged.Runs, func(r *StageRun) bool {
			return r.Name == run.Name && run.Complete && (replaced || !r.Complete)
		})
		merged.Runs = replace(merged.Runs, run, func(r *StageRun) bool { return r.Name == run.Name && r.Flags == run.Flags })
	}
	for _, l := range newer.complete().Lines {
		merged.Lines = replace(merged.Lines, l, func(old *Line) bool { return old.title() == l.title() })
	}
	slices.SortStableFunc(merged.Runs, func(a, b *StageRun) int { return stageIndex(a.Name) - stageIndex(b.Name) })
	slices.SortStableFunc(merged.Lines, func(a, b *Line) int { return stageIndex(a.Stage) - stageIndex(b.Stage) })
	return merged, nil
}

// isReplaced reports whether newer figures have all rows of a stage.
func (f *Figures) isReplaced(stage string, newer *Figures) bool {
	return !slices.ContainsFunc(f.Lines, func(old *Line) bool {
		return old.Stage == stage && !slices.ContainsFunc(newer.Lines, func(l *Line) bool { return l.title() == old.title() })
	})
}

// replace replaces the first item that matches, or adds the new one.
func replace[T any](all []T, with T, matches func(T) bool) []T {
	if i := slices.IndexFunc(all, matches); i >= 0 {
		all[i] = with
		return all
	}
	return append(all, with)
}

// complete returns the figures without the rows of which a side has no sample.
func (f *Figures) complete() *Figures {
	c := *f
	c.Lines = slices.DeleteFunc(slices.Clone(f.Lines), func(l *Line) bool { return !l.complete(len(f.Sides)) })
	return &c
}

func (l *Line) complete(sides int) bool {
	return len(l.Samples) == sides && !slices.ContainsFunc(l.Samples, func(samples []Sample) bool { return len(samples) == 0 })
}

// add adds a sample of a row.
func (f *Figures) add(row Row, sideIndex int, s Sample) {
	i := slices.IndexFunc(f.Lines, func(l *Line) bool { return l.Row == row })
	if i < 0 {
		i = len(f.Lines)
		f.Lines = append(f.Lines, &Line{Row: row, Samples: make([][]Sample, len(f.Sides))})
	}
	f.Lines[i].Samples[sideIndex] = append(f.Lines[i].Samples[sideIndex], s)
}
