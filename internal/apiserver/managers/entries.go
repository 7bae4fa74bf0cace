package managers

import (
	"slices"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/subresource"
)

const (
	// maxManagers is the number of entries of the largest managed fields that are handled without the library. A client can send thousands.
	maxManagers = 32
	// maxUpdaters is the number of entries for updates that the library leaves as they are. It merges the oldest of more.
	maxUpdaters = 10
)

// areKept reports whether an update leaves the entries of the stored object as they are: it has none, or the same ones. An empty list that is
// not nil removes them.
func areKept(stored, sent []metav1.ManagedFieldsEntry) bool {
	if len(sent) == 0 {
		return sent == nil
	}
	if len(sent) != len(stored) {
		return false
	}
	if &sent[0] == &stored[0] {
		return true
	}
	return slices.EqualFunc(stored, sent, func(a, b metav1.ManagedFieldsEntry) bool {
		return subresource.SameManager(&a, &b) && a.APIVersion == b.APIVersion && a.FieldsType == b.FieldsType && a.Time.Equal(b.Time) &&
			a.FieldsV1 != nil && b.FieldsV1 != nil && a.FieldsV1.Equal(*b.FieldsV1)
	})
}

// ownEntry returns the index of the entry of a manager that updates the endpoint. It returns false if there is none, or if an entry is not one that the library
// writes for this version.
func (r *Recorder) ownEntry(entries []metav1.ManagedFieldsEntry, manager string) (int, bool) {
	if len(entries) > maxManagers {
		return 0, false
	}
	own, updaters, version := -1, 0, r.Kind.GroupVersion().String()
	for i := range entries {
		entry := &entries[i]
		switch entry.Operation {
		case metav1.ManagedFieldsOperationApply:
		case metav1.ManagedFieldsOperationUpdate:
			if updaters++; entry.Manager == manager && entry.Subresource == r.Subresource {
				own = i
			}
		default:
			return 0, false
		}
		if entry.APIVersion != version || entry.FieldsType != "FieldsV1" || !utf8.ValidString(entry.Manager+entry.Subresource) {
			return 0, false
		}
		// The library would merge entries of one manager, and sort the others.
		if i > 0 && subresource.InOrder(entries[i-1], *entry) > 0 {
			return 0, false
		}
		for j := range i {
			if subresource.SameManager(&entries[j], entry) {
				return 0, false
			}
		}
	}
	return own, own >= 0 && updaters <= maxUpdaters
}

// written returns the entries after a write of the manager of an entry. The time of the entry changes if the write has replaced a value.
func written(entries []metav1.ManagedFieldsEntry, own int, isReplaced bool) []metav1.ManagedFieldsEntry {
	entries = slices.Clone(entries)
	if isReplaced {
		entries[own].Time = &metav1.Time{Time: time.Now().UTC()}
		slices.SortFunc(entries, subresource.InOrder)
	}
	return entries
}
