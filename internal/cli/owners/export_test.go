package owners

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/ownership"
)

// Release moves a field from the entries of server-side apply to the command.
func Release(entries []metav1.ManagedFieldsEntry, path ownership.Path, owners ...string) ([]metav1.ManagedFieldsEntry, error) {
	m := managedFields{entries: entries}
	_, err := m.release(path, owners)
	return m.entries, err
}

// Give moves a field from the entries of imperative commands to a manager of server-side apply.
func Give(entries []metav1.ManagedFieldsEntry, path ownership.Path, manager string) ([]metav1.ManagedFieldsEntry, error) {
	m := managedFields{entries: entries}
	err := m.give(path, metav1.ManagedFieldsEntry{Manager: manager})
	return m.entries, err
}
