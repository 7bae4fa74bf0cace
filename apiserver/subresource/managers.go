package subresource

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ScaleManagers are the managed fields of an object that has a scale.
type ScaleManagers struct {
	Entries []metav1.ManagedFieldsEntry
	// Version is the one that the object is written in.
	Version schema.GroupVersion
	// Paths are where each version has the replicas.
	Paths managedfields.ResourcePathMappings
}

func (m ScaleManagers) handler() *managedfields.ScaleHandler {
	return managedfields.NewScaleHandler(m.Entries, m.Version, m.Paths)
}

// OfScale are the managed fields of the scale.
func (m ScaleManagers) OfScale() ([]metav1.ManagedFieldsEntry, error) {
	return m.handler().ToSubresource()
}

// OfObject are the managed fields of the object after a write to its scale, which
// has the given ones.
func (m ScaleManagers) OfObject(scale []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	entries, err := m.handler().ToParent(scale)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		m.date(&entries[i], scale)
	}
	return join(entries)
}

// date gives an entry that has the replicas the time at which its manager wrote
// them: the library looks for that in the object, which was not written.
func (m ScaleManagers) date(entry *metav1.ManagedFieldsEntry, scale []metav1.ManagedFieldsEntry) {
	path := m.Paths[entry.APIVersion]
	if path == nil {
		return
	}
	set, err := fields(entry)
	if err != nil || !set.Has(path) {
		return
	}
	for i := range scale {
		at := scale[i].Time
		if sameManager(entry, &scale[i]) && at != nil && (entry.Time == nil || entry.Time.Before(at)) {
			entry.Time = at
		}
	}
}

// join makes one entry of those that have one name: a manager whose count somebody
// wrote again has lost it to an entry of its own.
func join(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	var out []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		twin := twinOf(&entry, out)
		if twin == nil {
			out = append(out, entry)
			continue
		}
		if err := unite(twin, &entry); err != nil {
			return nil, fmt.Errorf("managed fields of %s: %w", entry.Manager, err)
		}
	}
	return out, nil
}

func twinOf(entry *metav1.ManagedFieldsEntry, entries []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	for i := range entries {
		if sameManager(entry, &entries[i]) && entry.APIVersion == entries[i].APIVersion {
			return &entries[i]
		}
	}
	return nil
}

// sameManager says whether two entries are of one manager, in whichever version.
func sameManager(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

func unite(entry, other *metav1.ManagedFieldsEntry) error {
	mine, err := fields(entry)
	if err != nil {
		return err
	}
	theirs, err := fields(other)
	if err != nil {
		return err
	}
	text, err := mine.Union(theirs).ToJSON()
	if err != nil {
		return err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(text))
	if entry.Time == nil || entry.Time.Before(other.Time) {
		entry.Time = other.Time
	}
	return nil
}

func fields(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	return set, set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes()))
}
