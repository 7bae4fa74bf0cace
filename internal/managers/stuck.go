package managers

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/ownership"
)

// Reason says why an apply cannot remove a field.
type Reason string

// The reasons.
const (
	// CoOwned means that the manager that applies owns the field, and an entry of an earlier way of applying owns it too.
	CoOwned Reason = "co-owned"
	// LeftBehind means that only an entry of an earlier way of applying owns the field.
	LeftBehind Reason = "left behind"
	// NotRecorded means that a manager of server-side apply applies the object, the last-applied configuration has the field, and no entry
	// does.
	NotRecorded Reason = "not recorded"
	// NotApplied means that only client-side apply applies the object, its entry has the field, and the last-applied configuration does not.
	NotApplied Reason = "not applied"
)

// Stuck is a field that stays if the manager that applies the object leaves it out of its file. An item of a list stands for those of its
// fields that are stuck for the same reason.
type Stuck struct {
	Path   ownership.Path
	Reason Reason
	// Writer has the entry that keeps the field. It is empty for NotRecorded.
	Writer Writer
	// Applier is the manager that applies the object now. It is empty if none does, because the managers that did are gone.
	Applier string
}

// Mixed is a tool with more than one entry on an object.
type Mixed struct {
	Tool    string
	Writers []Writer
}

const (
	// UpdateLimit is how many entries of updates the API server keeps on an object. It merges the oldest of more entries into one of the
	// manager MergedManager.
	UpdateLimit = 10
	// nearLimit is the number of entries from which an object is near the limit.
	nearLimit = 8
	// MergedManager is the manager of merged entries.
	MergedManager = "ancient-changes"
)

// Findings are what Examine finds in the managed fields of an object.
type Findings struct {
	Stuck []Stuck
	// Tools are the tools with several entries.
	Tools []Mixed
	// Updates is the number of entries of updates. Merged means that the API server has merged some.
	Updates int
	Merged  bool
	// Appliers are the managers of server-side apply, if there are several that may still apply.
	Appliers []string
	// Unexamined are entries in another version of the API than the object: their fields may have other names in it.
	Unexamined []Unexamined
}

// Unexamined is an entry that was not examined.
type Unexamined struct {
	Writer
	// Version is the version of the API that the entry is in.
	Version string
}

// NearLimit reports whether the object has almost as many entries of updates as the API server keeps, or had more.
func (f Findings) NearLimit() bool { return f.Merged || f.Updates >= nearLimit }

// Examine finds the fields of an object that no apply removes, and what makes such fields. gone are managers that no longer apply. A
// field that an ordinary writer owns, such as a controller or kubectl scale, is not stuck.
//
// The managers that apply an object decide what is stuck. A manager of server-side apply removes the fields that only it owns. Client-side
// apply removes the fields of the last-applied configuration, whatever entries have them.
func Examine(subject ownership.Subject, gone []string) (Findings, error) {
	entries, err := decodeAll(subject.Managers)
	if err != nil {
		return Findings{}, err
	}
	var found Findings
	for _, entry := range entries {
		if entry.Operation == update {
			found.Updates++
		}
		found.Merged = found.Merged || entry.Manager == MergedManager
	}
	e := examination{Subject: subject, entries: entries, configuration: subject.Configuration(), gone: gone}
	found.Tools = e.sort()
	clientSide := e.clientSide()
	switch {
	case len(e.appliers) > 0:
		e.findKept(e.keptOnServer)
		e.findUnrecorded()
	case clientSide != "":
		e.findKept(func(one entry, path fieldpath.Path) (Reason, string) {
			shown, ok := ownership.PathOf(path)
			switch {
			case !ok || e.configuration.Sets(shown):
				return "", ""
			case e.isGone(one):
				return LeftBehind, clientSide
			}
			return NotApplied, clientSide
		})
	default:
		// No other manager applies the object, so every field of a manager that is gone stays.
		e.earlier = slices.DeleteFunc(e.earlier, func(one entry) bool { return !e.isGone(one) })
		e.findKept(func(entry, fieldpath.Path) (Reason, string) { return LeftBehind, "" })
	}
	found.Stuck, found.Unexamined, found.Appliers = e.withoutDefaults(), e.unexamined, e.several()
	return found, nil
}

// entry is an entry with its fields.
type entry struct {
	metav1.ManagedFieldsEntry
	fields *fieldpath.Set
}

// lastApplied is the annotation that belongs to the tools, and no field of a file.
var lastApplied = fieldpath.MakePathOrDie("metadata", "annotations", ownership.LastApplied)

func decodeAll(all []metav1.ManagedFieldsEntry) ([]entry, error) {
	entries := make([]entry, 0, len(all))
	for _, one := range all {
		set, err := Decode(one)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{one, set})
	}
	return entries, nil
}

// isFile reports whether an entry may be of a tool that applies files: such tools write no subresources. An entry that has nothing but
// the last-applied annotation does not count.
func (e entry) isFile() bool {
	bookkeeping := fieldpath.NewSet(lastApplied, lastApplied[:len(lastApplied)-1])
	return e.Subresource == "" && !e.fields.Difference(bookkeeping).Empty()
}

// owns reports whether an entry has a field, or a value around it as one field.
func (e entry) owns(path fieldpath.Path) bool {
	set := e.fields
	for i, element := range path {
		child, hasChild := set.Children.Get(element)
		isMember := set.Members.Has(element)
		if i == len(path)-1 || !hasChild {
			return isMember
		}
		set = child
	}
	return false
}

// hasBelow reports whether an entry has fields inside of the value at a path.
func (e entry) hasBelow(path fieldpath.Path) bool {
	set := e.fields
	for _, element := range path {
		child, ok := set.Children.Get(element)
		if !ok {
			return false
		}
		set = child
	}
	return !set.Empty()
}

// isNewer reports whether a was written after b. In the same second, server-side apply counts as newer.
func isNewer(a, b entry) bool {
	if a.Time.Equal(b.Time) {
		return a.Operation == apply && b.Operation != apply
	}
	return b.Time.Before(a.Time)
}

// isOf reports whether a tool writes entries such as e.
func (t Tool) isOf(e entry) bool {
	writer := WriterOf(e.ManagedFieldsEntry)
	return writer == t.Writer || slices.Contains(t.Earlier, writer)
}
