package ownership

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stockManager is the field manager of kubectl apply --server-side.
const stockManager = "kubectl"

// Seen returns the request of a writer of which only the user, the field manager and the managed fields of the
// objects are known, as in an admission review. It has neither headers nor the type of a patch.
//
//   - A client without a field manager is named as the API server names it in the managed fields.
//   - A write that renews the Apply entry of its field manager is a server-side apply. It counts as forced: without
//     force, the API server refuses to take a field from another manager.
//   - Two commands are the only ones with their field manager: kubectl apply --server-side, and an edit with the field
//     manager "force".
func (r Request) Seen(live, updated []metav1.ManagedFieldsEntry) Request {
	if r.FieldManager == "" {
		r.UserAgent = lastUpdate(live, updated).Manager
		return r
	}
	if renewsApply(r.FieldManager, live, updated) {
		r.ServerSide, r.Forced = true, true
	}
	switch {
	case r.ServerSide && r.FieldManager == stockManager:
		r.Command = stockManager + " apply"
	case !r.ServerSide && r.FieldManager == ForceManager:
		r.Command = stockManager + " edit"
	}
	return r
}

// lastUpdate returns the entry of the manager that made an update: the newest among the entries that are new, or have
// another time or more fields than before. It is empty if there is none, as after an update that only removes fields.
func lastUpdate(live, updated []metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	var last metav1.ManagedFieldsEntry
	before, after := newManagers(live), newManagers(updated)
	for i := range updated {
		entry := &updated[i]
		if entry.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		was := indexLike(live, entry)
		// The time has seconds. An entry that the update took fields from may have the same one as that of the writer.
		if was >= 0 && live[was].Time.Equal(entry.Time) && after.set(i).Difference(before.set(was)).Empty() {
			continue
		}
		if last.Manager == "" || last.Time.Before(entry.Time) {
			last = *entry
		}
	}
	return last
}

// renewsApply reports whether a write is a server-side apply of a manager. If the time of its entry is another
// one, it is. The time has seconds: two applies in the same second have the same. Then the entry has more fields, or
// the write has changed no entry of the manager for updates.
func renewsApply(manager string, live, updated []metav1.ManagedFieldsEntry) bool {
	after := newManagers(updated)
	at := after.applied(manager)
	if at < 0 {
		return false
	}
	before := newManagers(live)
	was := before.applied(manager)
	if was < 0 || !before.entries[was].Time.Equal(after.entries[at].Time) || !after.set(at).Difference(before.set(was)).Empty() {
		return true
	}
	for i := range updated {
		entry := &updated[i]
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationUpdate && !isSameEntry(live, entry) {
			return false
		}
	}
	return true
}

// indexLike returns the index of the entry with the same manager, operation, version and subresource, or -1.
func indexLike(entries []metav1.ManagedFieldsEntry, like *metav1.ManagedFieldsEntry) int {
	return slices.IndexFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == like.Manager && entry.Operation == like.Operation && entry.APIVersion == like.APIVersion &&
			entry.Subresource == like.Subresource
	})
}

// isSameEntry reports whether an update has left an entry as it was.
func isSameEntry(before []metav1.ManagedFieldsEntry, after *metav1.ManagedFieldsEntry) bool {
	was := indexLike(before, after)
	return was >= 0 && before[was].Time.Equal(after.Time) && bytes.Equal(rawFields(&before[was]), rawFields(after))
}

func rawFields(entry *metav1.ManagedFieldsEntry) []byte {
	if entry.FieldsV1 == nil {
		return nil
	}
	return entry.FieldsV1.GetRawBytes()
}
