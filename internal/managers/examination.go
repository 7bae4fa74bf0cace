package managers

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
)

// examination is the examination of one object.
type examination struct {
	ownership.Subject
	entries       []entry
	configuration ownership.Configuration
	// appliers are the entries that apply the object with server-side apply, the newest first. earlier are those of earlier ways of
	// applying, and ordinary all others.
	appliers, earlier, ordinary []entry
	found                       []Stuck
}

// sort puts the entries into appliers, earlier and ordinary. It returns the tools with several entries.
func (e *examination) sort(gone []string) []Mixed {
	const isApplier, isEarlier = 1, 2
	kinds := make([]int, len(e.entries))
	for i, one := range e.entries {
		switch {
		case !one.isFile():
		case slices.Contains(gone, one.Manager):
			kinds[i] = isEarlier
		case one.Operation == apply:
			kinds[i] = isApplier
		case one.Manager == ClientSideApply || one.Manager == BeforeFirstApply:
			kinds[i] = isEarlier
		}
	}
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
			if i != newest && (e.entries[newest].Operation == apply || kinds[i] == isApplier) {
				kinds[i] = isEarlier
			}
		}
	}
	for i, one := range e.entries {
		switch kinds[i] {
		case isApplier:
			e.appliers = append(e.appliers, one)
		case isEarlier:
			e.earlier = append(e.earlier, one)
		default:
			e.ordinary = append(e.ordinary, one)
		}
	}
	slices.SortStableFunc(e.appliers, func(a, b entry) int { return order(b, a) })
	return mixed
}

// isClientSide reports whether nothing but client-side apply applies the object. It keeps only the entries of kubectl as earlier ones:
// these have the fields that kubectl apply set.
func (e *examination) isClientSide() bool {
	kubectl := Tools()[slices.IndexFunc(Tools(), func(t Tool) bool { return slices.Contains(t.Earlier, clientSide) })]
	e.earlier = slices.DeleteFunc(e.earlier, func(one entry) bool { return !kubectl.isOf(one) })
	return slices.ContainsFunc(e.earlier, func(one entry) bool { return WriterOf(one.ManagedFieldsEntry) == clientSide })
}

// clientSide is the writer of client-side apply.
var clientSide = Writer{ClientSideApply, update}

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
func (e *examination) findKept(why func(fieldpath.Path) (Reason, string)) {
	for _, one := range e.earlier {
		if e.isOtherVersion(one) {
			continue
		}
		v := visit{examination: e, entry: one, why: why}
		v.fields(one.fields, e.Object, "")
	}
}

// isOtherVersion reports whether an entry is in another version of the API than the object. Its fields may have other names.
func (e *examination) isOtherVersion(one entry) bool { return one.APIVersion != e.Object["apiVersion"] }

// visit visits the fields of an earlier entry.
type visit struct {
	*examination
	entry entry
	why   func(fieldpath.Path) (Reason, string)
	path  fieldpath.Path
}

// fields visits a set of fields inside of a value. around is the reason why the list item around it is stuck: its fields are stuck with
// it, and are not shown for the same reason.
func (v *visit) fields(set *fieldpath.Set, value any, around Reason) {
	each := func(element fieldpath.PathElement) {
		inside, ok := child(value, element)
		if !ok || inside == nil || len(v.path) == 0 && isServerSet(element) {
			return
		}
		v.path = append(v.path, element)
		defer func() { v.path = v.path[:len(v.path)-1] }()
		below, hasBelow := set.Children.Get(element)
		reason := around
		if set.Members.Has(element) && (!hasBelow || element.Key != nil) {
			reason = v.judge(around, inside)
		}
		if hasBelow {
			v.fields(below, inside, reason)
		}
	}
	set.Members.Iterate(each)
	set.Children.Iterate(func(element fieldpath.PathElement) {
		if !set.Members.Has(element) {
			each(element)
		}
	})
}

// judge adds the field at the path if it is stuck, and returns the reason.
func (v *visit) judge(around Reason, inside any) Reason {
	isOwned := slices.ContainsFunc(v.ordinary, func(one entry) bool { return one.owns(v.path) })
	if isOwned || v.path.Equals(lastApplied) || isComposite(inside) && v.path[len(v.path)-1].Key == nil && v.isGranular() {
		return around
	}
	reason, applier := v.why(v.path)
	if reason == "" || reason == around {
		return around
	}
	shown, ok := ownership.PathOf(v.path)
	if !ok || v.IsFree(shown) {
		return around
	}
	v.found = append(v.found, Stuck{Path: shown, Reason: reason, Writer: WriterOf(v.entry.ManagedFieldsEntry), Applier: applier})
	return reason
}

// isGranular reports whether the value at the path has fields of other entries inside of it: then the entry owns only that the value is
// there.
func (v *visit) isGranular() bool {
	return slices.ContainsFunc(v.entries, func(one entry) bool { return one.hasBelow(v.path) })
}

// findUnrecorded adds the fields of the last-applied configuration that no entry has.
func (e *examination) findUnrecorded() {
	if !e.IsApplied() || slices.ContainsFunc(e.entries, e.isOtherVersion) {
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

// isServerSet reports whether an element at the top of an object has no owner that applies it.
func isServerSet(element fieldpath.PathElement) bool {
	return element.FieldName == nil || slices.Contains([]string{"apiVersion", "kind", "status"}, *element.FieldName)
}

// isComposite reports whether a value has values inside.
func isComposite(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}
