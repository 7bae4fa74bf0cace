package managers

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
)

// examination is the examination of one object.
type examination struct {
	ownership.Subject
	entries       []entry
	configuration ownership.Configuration
	// gone are managers that no longer apply.
	gone []string
	// appliers are the entries that apply the object with server-side apply, the newest first. earlier are those of earlier ways of
	// applying, and ordinary all others.
	appliers, earlier, ordinary []entry
	found                       []Stuck
	unexamined                  []Unexamined
}

// role says what an entry is for the object.
type role int

const (
	ordinary role = iota
	applying
	earlier
)

// sort puts the entries into appliers, earlier and ordinary. It returns the tools with several entries.
func (e *examination) sort() []Mixed {
	roles := make([]role, len(e.entries))
	for i, one := range e.entries {
		roles[i] = e.roleOf(one)
	}
	mixed := e.replaced(roles)
	for i, one := range e.entries {
		switch roles[i] {
		case applying:
			e.appliers = append(e.appliers, one)
		case earlier:
			e.earlier = append(e.earlier, one)
		default:
			e.ordinary = append(e.ordinary, one)
		}
	}
	slices.SortStableFunc(e.appliers, func(a, b entry) int { return order(b, a) })
	return mixed
}

// roleOf returns the role of an entry, without a look at the other ones.
func (e *examination) roleOf(one entry) role {
	switch {
	case !one.isFile():
		return ordinary
	case e.isGone(one):
		return earlier
	case one.Operation == apply:
		return applying
	case one.Manager == ClientSideApply || one.Manager == BeforeFirstApply:
		return earlier
	}
	return ordinary
}

// isGone reports whether an entry is of a manager that no longer applies.
func (e *examination) isGone(one entry) bool {
	return one.isFile() && slices.Contains(e.gone, one.Manager)
}

// replaced gives the role of earlier entries to those that a newer entry of the same tool has replaced. It returns the tools with several
// writers.
func (e *examination) replaced(roles []role) []Mixed {
	var mixed []Mixed
	for _, tool := range Tools() {
		var of []int
		for i, one := range e.entries {
			if one.isFile() && tool.isOf(one) {
				of = append(of, i)
			}
		}
		if len(of) < 2 {
			continue
		}
		if writers := e.writers(of); len(writers) > 1 {
			mixed = append(mixed, Mixed{tool.Name, writers})
		}
		newest := slices.MaxFunc(of, func(a, b int) int { return order(e.entries[a], e.entries[b]) })
		for _, i := range of {
			// A tool that applies with patches again removes fields whatever entries they have.
			if i != newest && (e.entries[newest].Operation == apply || roles[i] == applying) {
				roles[i] = earlier
			}
		}
	}
	return mixed
}

// several returns the managers of server-side apply if there are more than one.
func (e *examination) several() []string {
	var names []string
	for _, one := range e.appliers {
		if !slices.Contains(names, one.Manager) {
			names = append(names, one.Manager)
		}
	}
	if len(names) < 2 {
		return nil
	}
	slices.Sort(names)
	return names
}

// keptOnServer returns why an entry keeps a field that the managers of server-side apply leave out.
func (e *examination) keptOnServer(_ entry, path fieldpath.Path) (Reason, string) {
	for _, applier := range e.appliers {
		if applier.owns(path) {
			return CoOwned, applier.Manager
		}
	}
	return LeftBehind, e.appliers[0].Manager
}

// clientSide returns the manager that applies the object with client-side apply, if nothing applies it on the server: the newest one of
// the tools that do so. It is empty if there is none. The entries of these tools, and those of managers that are gone, are then the
// earlier ones: they have the fields that were applied.
func (e *examination) clientSide() string {
	if len(e.appliers) > 0 {
		return ""
	}
	var tools []Tool
	var applying []entry
	for _, tool := range Tools() {
		of := slices.DeleteFunc(slices.Clone(e.entries), func(one entry) bool { return !e.appliesClientSide(tool, one) })
		if len(of) > 0 {
			tools, applying = append(tools, tool), append(applying, of...)
		}
	}
	if len(tools) == 0 {
		return ""
	}
	e.earlier, e.ordinary = nil, nil
	for _, one := range e.entries {
		isOfTool := slices.ContainsFunc(tools, func(tool Tool) bool { return tool.isOf(one) })
		if one.isFile() && (isOfTool || e.isGone(one)) {
			e.earlier = append(e.earlier, one)
		} else {
			e.ordinary = append(e.ordinary, one)
		}
	}
	return slices.MaxFunc(applying, order).Manager
}

// appliesClientSide reports whether an entry shows that a tool applies the object as "kubectl apply" does. A tool other than kubectl does so
// if the object has a last-applied configuration, which is not that of kubectl: kubectl has no entry, or the object has a mark of the tool.
func (e *examination) appliesClientSide(tool Tool, one entry) bool {
	writer := WriterOf(one.ManagedFieldsEntry)
	if !one.isFile() || e.isGone(one) || !slices.Contains(tool.ClientSide, writer) {
		return false
	}
	if writer.Manager == ClientSideApply {
		return true
	}
	isKubectl := func(other entry) bool { return other.Manager == ClientSideApply }
	return e.IsApplied() &&
		(!slices.ContainsFunc(e.entries, isKubectl) || tool.marks(&unstructured.Unstructured{Object: e.Object}))
}

// order returns a number above zero if a is newer than b, and below zero if it is older.
func order(a, b entry) int {
	switch {
	case isNewer(a, b):
		return 1
	case isNewer(b, a):
		return -1
	}
	return 0
}

// writers returns the different writers of entries.
func (e *examination) writers(of []int) []Writer {
	var writers []Writer
	for _, i := range of {
		if writer := WriterOf(e.entries[i].ManagedFieldsEntry); !slices.Contains(writers, writer) {
			writers = append(writers, writer)
		}
	}
	return writers
}

// findKept adds the fields that an earlier entry keeps. why returns the reason, empty for a field that is not stuck, and the manager
// that applies.
func (e *examination) findKept(why func(entry, fieldpath.Path) (Reason, string)) {
	for _, one := range e.earlier {
		if e.isOtherVersion(one) {
			e.leaveOut(one)
			continue
		}
		v := visit{examination: e, entry: one, why: why}
		v.fields(one.fields, e.Object, "")
	}
}

// isOtherVersion reports whether an entry is in another version of the API than the object. Its fields may have other names.
func (e *examination) isOtherVersion(one entry) bool { return one.APIVersion != e.Object["apiVersion"] }

// leaveOut notes that an entry is not examined.
func (e *examination) leaveOut(one entry) {
	left := Unexamined{WriterOf(one.ManagedFieldsEntry), one.APIVersion}
	if !slices.Contains(e.unexamined, left) {
		e.unexamined = append(e.unexamined, left)
	}
}

// findUnrecorded adds the fields of the last-applied configuration that no entry has. An entry in another version may have any of them
// under another name, so there is no answer then.
func (e *examination) findUnrecorded() {
	if !e.IsApplied() {
		return
	}
	if slices.ContainsFunc(e.entries, e.isOtherVersion) {
		for _, one := range e.entries {
			if e.isOtherVersion(one) {
				e.leaveOut(one)
			}
		}
		return
	}
	fields, _ := e.Fields()
	for _, field := range fields {
		if object, isObject := field.Value.(map[string]any); isObject && len(object) == 0 {
			continue
		}
		if field.Applied && field.Set.Name == "" && field.Set.Time.IsZero() {
			e.found = append(e.found, Stuck{Path: field.Path, Reason: NotRecorded, Applier: e.appliers[0].Manager})
		}
	}
}

// withoutDefaults returns the stuck fields without those whose value is the default of the server: to remove such a field changes
// nothing. An entry of client-side apply has the defaults of the day on which it was written. A field that an applier owns is not a
// default: its file has the field.
func (e *examination) withoutDefaults() []Stuck {
	candidates := map[string]ownership.Path{}
	for _, one := range e.found {
		if one.Reason != CoOwned {
			candidates[one.Path.String()] = one.Path
		}
	}
	paths := make([]ownership.Path, 0, len(candidates))
	for _, text := range slices.Sorted(maps.Keys(candidates)) {
		paths = append(paths, candidates[text])
	}
	for _, path := range e.WithoutDefaults(paths) {
		delete(candidates, path.String())
	}
	return slices.DeleteFunc(e.found, func(one Stuck) bool {
		_, isDefault := candidates[one.Path.String()]
		return isDefault && one.Reason != CoOwned
	})
}
