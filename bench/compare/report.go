package compare

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/bench/manifest"
)

// disturbance returns the number of samples, how many measurements were discarded because they were disturbed, and how many samples
// stayed disturbed.
func (f *Figures) disturbance() (taken, repeated, disturbed int) {
	for _, l := range f.Lines {
		for _, samples := range l.Samples {
			for _, s := range samples {
				taken++
				repeated += s.Again
				if s.Others > f.Settings.Others {
					disturbed++
				}
			}
		}
	}
	return taken, repeated, disturbed
}

// quiet reports whether so few samples were disturbed that times of waiting mean something.
func (f *Figures) quiet() bool {
	taken, _, disturbed := f.disturbance()
	return disturbed*10 <= taken
}

// Markdown returns the report. plots are the links to the plots, by section.
func (f *Figures) Markdown(plots map[string]string) string {
	var b strings.Builder
	b.WriteString(f.introduction())
	b.WriteString(f.goals())
	if len(plots) > 0 {
		b.WriteString("\nEach row of a plot has a scale of its own: the longer of its two bars has the full width. A red mark shows the goal.\n")
	}
	for _, section := range f.Sections() {
		fmt.Fprintf(&b, "\n## %s\n\n%s", heading(section), explanation(section))
		if plot := plots[section]; plot != "" {
			fmt.Fprintf(&b, "![%s](%s)\n\n", heading(section), plot)
		}
		b.WriteString(f.table(section))
	}
	b.WriteString(f.allocation())
	return b.String()
}

// explanation says what the rows of a section measure, where their names do not.
func explanation(section string) string {
	switch section {
	case addedSection:
		return `The resident memory of the server with the objects, less that without them, divided by their number; and the same of the live heap. The
server has collected its garbage before. The pods run on 100 nodes, of which none is connected.

`
	case informersSection:
		return `All informers begin at the same time, each with a connection of its own, and read everything as JSON. The value is the highest resident
memory, less that of the server at rest with the objects in its cache. Memory that the server holds at rest without using it is in neither; the column
with the peak has all of it.

`
	case discoverySection:
		return `kubectl of Kubernetes begins with an empty cache folder and gets the ConfigMaps of a namespace. The time includes the start of kubectl.

`
	}
	return ""
}

func heading(section string) string { return strings.ToUpper(section[:1]) + section[1:] }

// Sections lists the sections in the order of their first rows.
func (f *Figures) Sections() []string {
	var found []string
	for _, l := range f.Lines {
		if !slices.Contains(found, l.Section) {
			found = append(found, l.Section)
		}
	}
	return found
}

func (f *Figures) introduction() string {
	var b strings.Builder
	var servers []string
	for _, one := range f.Sides {
		servers = append(servers, fmt.Sprintf("%s (%s)", one.Name, one.Version))
	}
	fmt.Fprintf(&b, `# Benchmarks

This page shows what requests, watches, definitions, nodes and starts cost on %s.
The same client sends the same requests to each, in turns, on a machine with %s. The servers write to disk with fsync, serve TLS,
authenticate clients by certificates, and write no audit log. This measured the figures:

%s
[scale.md](scale.md) computes from them how many nodes and definitions a server carries.
`, strings.Join(servers, " and on "), plural(f.CPUs, "CPU"), f.commands())
	var counts []int
	for _, l := range f.Lines {
		for _, samples := range l.Samples {
			counts = append(counts, len(samples))
		}
	}
	taken, repeated, disturbed := f.disturbance()
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
- A node is a Node, a Lease, a connection with a credential of its own, and a watch of its pods.
- The rows of lists repeat the same list. Holdfast answers it with encoded objects from its cache.
- A sample is disturbed if other processes used more than %.0f %% of the CPU time of the machine. The program takes a disturbed sample
  again, up to %s, and uses the least disturbed attempt. It took %d samples and discarded %d attempts. %d samples stayed disturbed.
`, slices.Min(counts), slices.Max(counts), f.Settings.Fields,
		kilobytes(customResource(f.Settings).instance("client-00", 1)),
		kilobytes(manifest.ConfigMap("client-00", 1)), 100*f.Settings.Others, plural(f.Settings.Repeats, "time"), taken, repeated, disturbed)
	if !f.quiet() {
		b.WriteString(`
**Other work ran on the machine during this run.** This raises the CPU time of a request on both sides. The
ratios need a quiet run to confirm them. The time that a client waits means nothing in such a run, so the page leaves it out.
`)
	}
	return b.String()
}

// commands returns the commands of the runs, each with its stages and how long they took.
func (f *Figures) commands() string {
	var flags []string
	took := map[string]string{}
	for _, run := range f.Runs {
		if !slices.Contains(flags, run.Flags) {
			flags = append(flags, run.Flags)
		}
		state := ""
		if !run.Complete {
			state = ", not complete"
		}
		took[run.Flags] += fmt.Sprintf(", %s %.1f min%s", run.Name, run.Seconds/60, state)
	}
	var b strings.Builder
	for _, one := range flags {
		command := "make bench-peer"
		if one != "" {
			command += " ARGS='" + one + "'"
		}
		fmt.Fprintf(&b, "- `%s` (%s)\n", command, took[one][2:])
	}
	return b.String()
}

func kilobytes(obj object) float64 { return float64(len(encode(obj))) / 1000 }
