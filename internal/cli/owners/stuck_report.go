package owners

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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
	Skipped []skipped `json:"skipped"`
	// Unavailable says which APIs do not answer, so that their kinds were not examined.
	Unavailable string       `json:"unavailable,omitempty"`
	Fields      []stuckField `json:"fields"`
	Tools       []mixedTool  `json:"tools"`
	Limits      []limit      `json:"limits"`
	// NotExamined are entries in another version of the API than their objects.
	NotExamined []notExamined `json:"notExamined"`
	// Appliers are managers of server-side apply that share objects. They are no finding: all of them may still apply.
	Appliers []appliers `json:"appliers"`

	// all means that the report names all objects.
	all    bool
	fields map[fieldKey]*group
	tools  map[toolKey]*group
	others map[otherKey]*group
	shared map[string]*group
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
	// Applier is the manager that applies the objects, empty if none does any more.
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

// notExamined is an entry in another version of the API than its object, in some objects of a kind.
type notExamined struct {
	otherKey
	group
}

// otherKey is what the objects of a line about such entries have in common.
type otherKey struct {
	Manager   string `json:"manager"`
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	Version   string `json:"version"`
}

// appliers are the managers of server-side apply of some objects.
type appliers struct {
	Managers []string `json:"managers"`
	group
}

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
		NotExamined: []notExamined{}, Appliers: []appliers{},
		all: all, fields: map[fieldKey]*group{}, tools: map[toolKey]*group{}, others: map[otherKey]*group{}, shared: map[string]*group{},
		places: map[place]bool{},
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
	for _, one := range found.Unexamined {
		addTo(r, r.others, otherKey{one.Manager, string(one.Operation), object.kind, one.Version}, object)
	}
	if len(found.Appliers) > 0 {
		addTo(r, r.shared, strings.Join(found.Appliers, separator), object)
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
	return len(r.fields) == 0 && len(r.tools) == 0 && len(r.Limits) == 0 && len(r.others) == 0
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
	for _, key := range slices.SortedFunc(maps.Keys(r.others), func(a, b otherKey) int {
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	}) {
		r.NotExamined = append(r.NotExamined, notExamined{key, *r.others[key]})
	}
	for _, key := range slices.Sorted(maps.Keys(r.shared)) {
		r.Appliers = append(r.Appliers, appliers{strings.Split(key, separator), *r.shared[key]})
	}
	slices.SortFunc(r.Limits, func(a, b limit) int {
		return cmp.Or(cmp.Compare(b.Updates, a.Updates), cmp.Compare(a.Object, b.Object))
	})
}
