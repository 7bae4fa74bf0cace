package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// table returns the table of a section.
func (f *Figures) table(section string) string {
	waitColumn, columns := "", 2
	if f.quiet() && f.hasWaits(section) {
		waitColumn, columns = "wait | ", 3
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, one := range f.Sides {
		fmt.Fprintf(&b, " %s | %speak |", one.Name, waitColumn)
	}
	fmt.Fprintf(&b, " ratio | goal |\n|---|%s---|---|\n", strings.Repeat(strings.Repeat("---|", columns), len(f.Sides)))
	for _, l := range f.Lines {
		if l.Section != section || !f.shows(l) {
			continue
		}
		b.WriteString(l.markdown(columns) + "\n")
	}
	return b.String() + f.notes(section)
}

// notes returns what the samples of a section say about their values.
func (f *Figures) notes(section string) string {
	var b strings.Builder
	for _, l := range f.Lines {
		if l.Section != section || !f.shows(l) {
			continue
		}
		for i, samples := range l.Samples {
			for _, s := range samples {
				if s.Note != "" {
					fmt.Fprintf(&b, "\n%s, %s: %s.\n", l.Name, f.Sides[i].Name, s.Note)
				}
			}
		}
	}
	return b.String()
}

// shows reports whether the page shows a row. In a disturbed run, how long a client waits means nothing.
func (f *Figures) shows(l *Line) bool { return l.Unit != waitUnit || f.quiet() }

// hasWaits reports whether the rows of a section measure how long a client waits.
func (f *Figures) hasWaits(section string) bool {
	return slices.ContainsFunc(f.Lines, func(l *Line) bool { return l.Section == section && l.Samples[0][0].Wait > 0 })
}

// markdown returns the line as a row of a table, with 2 or 3 columns for each side: the value, how long a client waits, the peak of the
// memory.
func (l *Line) markdown(columns int) string {
	cells := []string{l.Name}
	for _, samples := range l.Samples {
		values := sorted(samples, func(s Sample) float64 { return s.Value })
		cells = append(cells, fmt.Sprintf("%s (%s to %s)", format(l.Row, median(values)), number(values[0]), number(values[len(values)-1])))
		if columns == 3 {
			waits := sorted(samples, func(s Sample) float64 { return s.Wait })
			wait := ""
			if middle := median(waits); middle > 0 {
				wait = number(middle) + " ms"
			}
			cells = append(cells, wait)
		}
		peaks := sorted(samples, func(s Sample) float64 { return s.Peak })
		cells = append(cells, fmt.Sprintf("%.0f MB", median(peaks)))
	}
	ratio, goal := "", ""
	if value, ok := l.ratio(); ok {
		ratio = fmt.Sprintf("%.2f", value)
	}
	if l.Goal > 0 {
		goal = fmt.Sprintf("%.2f", l.Goal)
	}
	if l.Limit > 0 {
		goal = strings.TrimPrefix(goal+", "+format(l.Row, l.Limit), ", ")
	}
	return "| " + strings.Join(append(cells, ratio, goal), " | ") + " |"
}

// ratio returns Holdfast's value divided by the peer's, if there is one.
func (l *Line) ratio() (value float64, ok bool) {
	return ratioOf(l.medians())
}

func ratioOf(medians []float64) (value float64, ok bool) {
	if len(medians) != 2 || medians[1] <= 0 {
		return 0, false
	}
	return medians[0] / medians[1], true
}

// medians returns the median value of each side.
func (l *Line) medians() []float64 {
	var medians []float64
	for _, samples := range l.Samples {
		medians = append(medians, median(sorted(samples, func(s Sample) float64 { return s.Value })))
	}
	return medians
}

// format returns a value with its unit.
func format(row Row, value float64) string {
	unit, _, _ := strings.Cut(row.Unit, " ")
	return number(value) + " " + unit
}

// number returns a value with two or three digits that matter.
func number(value float64) string {
	switch {
	case value >= 100 || value <= -100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10 || value <= -10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}

func sorted[T cmp.Ordered](samples []Sample, of func(Sample) T) []T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values
}

// median returns the value in the middle, and the higher one of two in the middle.
func median[T cmp.Ordered](values []T) T { return values[len(values)/2] }
