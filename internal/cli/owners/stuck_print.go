package owners

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/managers"
)

// print prints the report: its tables with a line after each, hints, and the counts.
func (r *stuckReport) print(out io.Writer, format output.Format) error {
	r.sort()
	if format != "" {
		return format.Print(out, r)
	}
	for _, table := range [][]string{r.fieldTable(), r.toolTable(), r.limitTable(), r.otherTable()} {
		if err := printTable(out, table); err != nil {
			return err
		}
	}
	for _, one := range r.Appliers {
		verb := "have"
		if one.Count == 1 {
			verb = "has"
		}
		if _, err := fmt.Fprintf(out, "%s %s several managers of server-side apply, %s: if one of them no longer applies, name it with --gone\n",
			count(one.Count, "object"), verb, strings.Join(one.Managers, separator)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%s in %s; examined %s of %s%s\n", count(r.stuck, "stuck field"), count(len(r.places), "object"),
		count(r.Examined.Objects, "object"), count(r.Examined.Kinds, "kind"), r.left())
	return err
}

// left says how many entries were not examined.
func (r *stuckReport) left() string {
	entries := 0
	for _, one := range r.NotExamined {
		entries += one.Count
	}
	if entries == 0 {
		return ""
	}
	return fmt.Sprintf("; not examined: other version, in %s", count(entries, "case"))
}

// The tables have their head as the first line. The cells of a line are separated by tabs.

func (r *stuckReport) fieldTable() []string {
	lines := []string{"MANAGER\tKIND\tFIELD\tWHY\tCOUNT\tOBJECTS"}
	for _, one := range r.Fields {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s",
			writerName(one.Manager, one.Operation), one.Kind, one.Field, one.why(), one.Count, one.names()))
	}
	return lines
}

func (r *stuckReport) toolTable() []string {
	lines := []string{"TOOL\tMANAGERS\tKIND\tCOUNT\tOBJECTS"}
	for _, one := range r.Tools {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%d\t%s", one.Tool, strings.Join(one.Managers, separator), one.Kind, one.Count, one.names()))
	}
	return lines
}

func (r *stuckReport) limitTable() []string {
	lines := []string{"OBJECT\tMANAGERS OF UPDATES"}
	for _, one := range r.Limits {
		merged := ""
		if one.Merged {
			merged = ", the oldest are merged"
		}
		lines = append(lines, fmt.Sprintf("%s\t%d of %d%s", one.Object, one.Updates, one.Limit, merged))
	}
	return lines
}

func (r *stuckReport) otherTable() []string {
	lines := []string{"MANAGER\tKIND\tNOT EXAMINED\tCOUNT\tOBJECTS"}
	for _, one := range r.NotExamined {
		lines = append(lines, fmt.Sprintf("%s\t%s\tother version: %s\t%d\t%s",
			writerName(one.Manager, one.Operation), one.Kind, one.Version, one.Count, one.names()))
	}
	return lines
}

// printTable prints a table, and an empty line after it. It prints nothing if the table has only a head.
func printTable(out io.Writer, lines []string) error {
	if len(lines) == 1 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(lines, "\n"))
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// why returns the reason, with the manager that applies.
func (f stuckField) why() string {
	if f.Reason == managers.CoOwned {
		return string(f.Reason) + " with " + f.Applier
	}
	return string(f.Reason)
}

// names returns the names of the objects, and how many more there are.
func (g group) names() string {
	text := strings.Join(g.Objects, ", ")
	if more := g.Count - len(g.Objects); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
