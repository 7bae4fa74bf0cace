package owners

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"holdfast.dev/holdfast/internal/cli/output"
	"holdfast.dev/holdfast/internal/managers"
)

// someObjects is how many objects of a field the text names.
const someObjects = 3

// stuckReport is what owners --stuck found.
type stuckReport struct {
	Examined struct {
		Kinds   int `json:"kinds"`
		Objects int `json:"objects"`
	} `json:"examined"`
	// Skipped are the kinds that the user may not list.
	Skipped []skipped    `json:"skipped"`
	Fields  []stuckField `json:"fields"`
	Tools   []mixedTool  `json:"tools"`
	Limits  []limit      `json:"limits"`

	// all means that the report names all objects.
	all    bool
	fields map[fieldKey]*group
	tools  map[toolKey]*group
	stuck  int
	places map[place]bool
}

type skipped struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// stuckField is a field that is stuck for the same reason in some objects of a kind.
type stuckField struct {
	fieldKey
	group
}

// fieldKey is what the objects of a line have in common.
type fieldKey struct {
	// Manager and Operation name the entry that keeps the field. They are empty if no entry has it.
	Manager   string          `json:"manager"`
	Operation string          `json:"operation"`
	Kind      string          `json:"kind"`
	Field     string          `json:"field"`
	Reason    managers.Reason `json:"reason"`
	// Applier is the manager that applies the objects.
	Applier string `json:"applier"`
}

// mixedTool is a tool that writes under several managers.
type mixedTool struct {
	Tool string `json:"tool"`
	// Managers are the managers with their operations: kubectl (Apply).
	Managers []string `json:"managers"`
	Kind     string   `json:"kind"`
	group
}

// toolKey is what the objects of a line about a tool have in common. managers are separated by separator.
type toolKey struct{ tool, managers, kind string }

const separator = ", "

// limit is an object near the limit of managers.
type limit struct {
	Object string `json:"object"`
	// Updates is the number of managers of updates, of Limit. Merged means that the server has merged the oldest ones.
	Updates int  `json:"updates"`
	Limit   int  `json:"limit"`
	Merged  bool `json:"merged"`
}

// group is the objects of a line.
type group struct {
	Count   int      `json:"count"`
	Objects []string `json:"objects"`
}

// place names an object. Kind has the group: Deployment.apps.
type place struct{ kind, namespace, name string }

// String returns the name with the kind.
func (p place) String() string { return p.kind + " " + p.short() }

func (p place) short() string {
	if p.namespace == "" {
		return p.name
	}
	return p.namespace + "/" + p.name
}

// newStuckReport returns an empty report. With all, it names all objects, otherwise some.
func newStuckReport(all bool) *stuckReport {
	return &stuckReport{
		Skipped: []skipped{}, Fields: []stuckField{}, Tools: []mixedTool{}, Limits: []limit{},
		all: all, fields: map[fieldKey]*group{}, tools: map[toolKey]*group{}, places: map[place]bool{},
	}
}

// add adds what was found in an object.
func (r *stuckReport) add(object place, found managers.Findings) {
	r.Examined.Objects++
	for _, one := range found.Stuck {
		r.stuck++
		r.places[object] = true
		key := fieldKey{
			Manager: one.Writer.Manager, Operation: string(one.Writer.Operation), Kind: object.kind, Field: one.Path.String(),
			Reason: one.Reason, Applier: one.Applier,
		}
		addTo(r, r.fields, key, object)
	}
	for _, one := range found.Tools {
		names := make([]string, len(one.Writers))
		for i, writer := range one.Writers {
			names[i] = writerName(writer.Manager, string(writer.Operation))
		}
		slices.Sort(names)
		addTo(r, r.tools, toolKey{one.Tool, strings.Join(names, separator), object.kind}, object)
	}
	if found.NearLimit() {
		r.Limits = append(r.Limits, limit{object.String(), found.Updates, managers.UpdateLimit, found.Merged})
	}
}

// addTo adds an object to a line.
func addTo[K comparable](r *stuckReport, lines map[K]*group, key K, object place) {
	line := lines[key]
	if line == nil {
		line = &group{}
		lines[key] = line
	}
	if line.Count++; r.all || len(line.Objects) < someObjects {
		line.Objects = append(line.Objects, object.short())
	}
}

func writerName(manager, operation string) string {
	if manager == "" {
		return "-"
	}
	return manager + " (" + operation + ")"
}

func (r *stuckReport) isEmpty() bool {
	return len(r.fields) == 0 && len(r.tools) == 0 && len(r.Limits) == 0
}

// sort fills in the lines: by manager and kind, and of these the fields of most objects first.
func (r *stuckReport) sort() {
	for key, line := range r.fields {
		r.Fields = append(r.Fields, stuckField{key, *line})
	}
	slices.SortFunc(r.Fields, func(a, b stuckField) int {
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Applier, b.Applier))
	})
	for _, key := range slices.SortedFunc(maps.Keys(r.tools), func(a, b toolKey) int {
		return cmp.Or(cmp.Compare(a.tool, b.tool), cmp.Compare(a.managers, b.managers), cmp.Compare(a.kind, b.kind))
	}) {
		r.Tools = append(r.Tools, mixedTool{key.tool, strings.Split(key.managers, separator), key.kind, *r.tools[key]})
	}
	slices.SortFunc(r.Limits, func(a, b limit) int {
		return cmp.Or(cmp.Compare(b.Updates, a.Updates), cmp.Compare(a.Object, b.Object))
	})
}

// print prints the report.
func (r *stuckReport) print(out io.Writer, format output.Format) error {
	r.sort()
	if format != "" {
		return format.Print(out, r)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Fields) > 0 {
		fmt.Fprintln(table, "MANAGER\tKIND\tFIELD\tWHY\tCOUNT\tOBJECTS")
	}
	for _, line := range r.Fields {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n", writerName(line.Manager, line.Operation), line.Kind, line.Field, line.why(), line.Count, line.names())
	}
	if err := r.flush(out, table, len(r.Fields) > 0); err != nil {
		return err
	}
	if len(r.Tools) > 0 {
		fmt.Fprintln(table, "TOOL\tMANAGERS\tKIND\tCOUNT\tOBJECTS")
	}
	for _, line := range r.Tools {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", line.Tool, strings.Join(line.Managers, separator), line.Kind, line.Count, line.names())
	}
	if err := r.flush(out, table, len(r.Tools) > 0); err != nil {
		return err
	}
	if len(r.Limits) > 0 {
		fmt.Fprintln(table, "OBJECT\tMANAGERS OF UPDATES")
	}
	for _, line := range r.Limits {
		fmt.Fprintf(table, "%s\t%d of %d%s\n", line.Object, line.Updates, line.Limit, map[bool]string{true: ", the oldest are merged"}[line.Merged])
	}
	if err := r.flush(out, table, len(r.Limits) > 0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s in %s; examined %s of %s\n", count(r.stuck, "stuck field"), count(len(r.places), "object"),
		count(r.Examined.Objects, "object"), count(r.Examined.Kinds, "kind"))
	return err
}

// flush ends a table, with an empty line after it if the table has lines.
func (*stuckReport) flush(out io.Writer, table *tabwriter.Writer, hasLines bool) error {
	if err := table.Flush(); err != nil || !hasLines {
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
