package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// quiet reports whether so few samples were disturbed that times of waiting mean something.
func (r *Result) quiet() bool { return r.disturbed*10 <= r.taken }

// Markdown returns the report. plots are the links to the plots, by section.
func (r *Result) Markdown(plots map[string]string) string {
	var b strings.Builder
	b.WriteString(r.introduction())
	if len(plots) > 0 {
		b.WriteString("\nEach row of a plot has a scale of its own: the longer of its two bars has the full width. A red mark shows the goal.\n")
	}
	for _, section := range r.Sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", heading(section))
		if plot := plots[section]; plot != "" {
			fmt.Fprintf(&b, "![%s](%s)\n\n", heading(section), plot)
		}
		b.WriteString(r.table(section))
	}
	return b.String()
}

func heading(section string) string { return strings.ToUpper(section[:1]) + section[1:] }

// Sections lists the sections in the order of their first rows.
func (r *Result) Sections() []string {
	var found []string
	for _, l := range r.lines {
		if !slices.Contains(found, l.Section) {
			found = append(found, l.Section)
		}
	}
	return found
}

func (r *Result) introduction() string {
	var b strings.Builder
	command := "make bench-peer"
	if r.settings.Flags != "" {
		command += " ARGS='" + r.settings.Flags + "'"
	}
	var servers []string
	for i, name := range r.sides {
		servers = append(servers, fmt.Sprintf("%s (%s)", name, r.versions[i]))
	}
	fmt.Fprintf(&b, `# Benchmarks

This page shows what requests, watches, definitions and starts cost on %s.
The same client sends the same requests to each, in turns, on a machine with %s. The servers write to disk with fsync, serve TLS,
authenticate clients by certificates, and write no audit log. This command wrote the page:

    %s
`, strings.Join(servers, " and on "), plural(runtime.NumCPU(), "CPU"), command)
	var counts []int
	for _, l := range r.lines {
		for _, samples := range l.samples {
			counts = append(counts, len(samples))
		}
	}
	fmt.Fprintf(&b, `
- CPU time and memory include etcd: kube-apiserver has an etcd process of its own, and Holdfast runs etcd in its own process.
- The value of a request is the CPU time that it takes. A value is the median of %d to %d samples, with the lowest and the highest in
  brackets. Of an even number of samples, the higher one in the middle counts.
- Linux counts CPU time in steps of 10 ms. A sample divides them by its number of requests, so a row with few requests is coarse.
- Peak is the highest resident memory during the row. In a row about a start or about memory, it is the highest since the server
  started. One server answers all rows of requests, so the peak of a row includes memory that earlier rows left behind.
- The ratio is Holdfast's value divided by kube-apiserver's. The goal is the highest ratio that we accept in the long run.
- The custom resource has %d fields with validation rules. An object of it has %.1f KB as
  JSON, and a ConfigMap has %.1f KB.
- The rows of lists repeat the same list. Holdfast answers it with encoded objects from its cache.
- A sample is disturbed if other processes used more than %.0f %% of the CPU time of the machine. The program takes a disturbed sample
  again, up to %s, and uses the least disturbed attempt. In this run it took %d samples about requests, and %d of
  them again. %d stayed disturbed.
`, slices.Min(counts), slices.Max(counts), r.settings.Fields,
		kilobytes(customResource(r.settings).instance("client-00", 1)),
		kilobytes(configMap("client-00", 1)), 100*r.settings.Others, plural(r.settings.Repeats, "time"), r.taken, r.repeated, r.disturbed)
	if !r.quiet() {
		b.WriteString(`
**Other work ran on the machine during this run.** This raises the CPU time of a request on both sides. The
ratios need a quiet run to confirm them. The time that a client waits means nothing in such a run, so the page leaves it out.
`)
	}
	return b.String()
}

func kilobytes(obj object) float64 { return float64(len(encode(obj))) / 1000 }

// table returns the table of a section.
func (r *Result) table(section string) string {
	waitColumn, columns := "", 2
	if r.quiet() && r.hasWaits(section) {
		waitColumn, columns = "wait | ", 3
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, name := range r.sides {
		fmt.Fprintf(&b, " %s | %speak |", name, waitColumn)
	}
	fmt.Fprintf(&b, " ratio | goal |\n|---|%s---|---|\n", strings.Repeat(strings.Repeat("---|", columns), len(r.sides)))
	for _, l := range r.lines {
		if l.Section != section || l.Unit == waitUnit && !r.quiet() {
			continue
		}
		b.WriteString(l.markdown(columns) + "\n")
	}
	return b.String()
}

// hasWaits reports whether the rows of a section measure how long a client waits.
func (r *Result) hasWaits(section string) bool {
	return slices.ContainsFunc(r.lines, func(l *line) bool { return l.Section == section && l.samples[0][0].wait > 0 })
}

// markdown returns the line as a row of a table, with 2 or 3 columns for each side: the value, how long a client waits, the peak of the
// memory.
func (l *line) markdown(columns int) string {
	cells := []string{l.Name}
	for _, samples := range l.samples {
		values := sorted(samples, func(s sample) float64 { return s.value })
		cells = append(cells, fmt.Sprintf("%s (%s to %s)", format(l.Row, median(values)), number(values[0]), number(values[len(values)-1])))
		if columns == 3 {
			waits := sorted(samples, func(s sample) float64 { return milliseconds(s.wait) })
			cells = append(cells, number(median(waits))+" ms")
		}
		peaks := sorted(samples, func(s sample) int64 { return s.peak })
		cells = append(cells, fmt.Sprintf("%.0f MB", megabytes(median(peaks))))
	}
	ratio, goal := "", ""
	if medians := l.medians(); len(medians) == 2 && medians[1] > 0 {
		ratio = fmt.Sprintf("%.2f", medians[0]/medians[1])
	}
	if l.Goal > 0 {
		goal = fmt.Sprintf("%.2f", l.Goal)
	}
	return "| " + strings.Join(append(cells, ratio, goal), " | ") + " |"
}

// medians returns the median value of each side.
func (l *line) medians() []float64 {
	var medians []float64
	for _, samples := range l.samples {
		medians = append(medians, median(sorted(samples, func(s sample) float64 { return s.value })))
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

func sorted[T cmp.Ordered](samples []sample, of func(sample) T) []T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values
}

// median returns the value in the middle, and the higher one of two in the middle.
func median[T cmp.Ordered](values []T) T { return values[len(values)/2] }

// gitVersion returns the version in an answer to /version.
func gitVersion(answer []byte) string {
	_, rest, _ := bytes.Cut(answer, []byte(`"gitVersion": "`))
	version, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(version)
}
