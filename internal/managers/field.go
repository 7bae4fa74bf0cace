package managers

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/ownership"
)

// Release moves a field from the entries of server-side apply to an entry of imperative writes, of the manager to. An apply that
// has the field then gets a conflict. Release returns false if no entry has the field or a part of it.
func (f *Fields) Release(path ownership.Path, to string) (bool, error) {
	taken, version, err := f.Take(within(path, isApplier))
	if err != nil || taken.Empty() {
		return false, err
	}
	return true, f.Add(metav1.ManagedFieldsEntry{Manager: to, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: version}, taken)
}

// Give moves a field from the entries of imperative commands to that of a manager of
// server-side apply. If the manager has no entry yet, Give adds the entry to.
func (f *Fields) Give(path ownership.Path, to metav1.ManagedFieldsEntry) error {
	taken, _, err := f.Take(within(path, isUpdater))
	if err != nil {
		return err
	}
	if taken.Empty() {
		// The server set the field itself, or did not record its manager.
		named, ok := named(path)
		if !ok {
			return fmt.Errorf("field %s: no manager is recorded for it: apply a file that has it", path)
		}
		taken.Insert(named)
	}
	to.Operation = metav1.ManagedFieldsOperationApply
	return f.Add(to, taken)
}

// SharedWithUpdates reports whether an imperative command owns a field or a part of it.
func (f *Fields) SharedWithUpdates(path ownership.Path) bool {
	return slices.ContainsFunc(f.entries, func(entry metav1.ManagedFieldsEntry) bool {
		set, err := Decode(entry)
		return err == nil && isUpdater(entry) && !Within(set, path).Empty()
	})
}
