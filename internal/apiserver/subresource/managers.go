package subresource

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ScaleManagers translates managed fields between an object and its Scale. The library
// does most of it, with two faults that are corrected here: it loses the time at which
// the Scale was written, and it splits the entry of a manager in two if another manager
// writes the same count again. The entries have the order in which every write stores them:
// otherwise the next write would be stored even if it changes nothing. No input is changed.
type ScaleManagers struct {
	// Entries are the managed fields of the object.
	Entries []metav1.ManagedFieldsEntry
	// Version is the version of the object.
	Version schema.GroupVersion
	// Paths are the paths of the wanted replica count, by version.
	Paths managedfields.ResourcePathMappings
}

func (m ScaleManagers) handler() *managedfields.ScaleHandler {
	return managedfields.NewScaleHandler(m.Entries, m.Version, m.Paths)
}

// OfScale returns the managed fields of the Scale.
func (m ScaleManagers) OfScale() ([]metav1.ManagedFieldsEntry, error) {
	return m.handler().ToSubresource()
}

// OfObject returns the managed fields of the object after a write to its Scale. scale
// are the managed fields of the Scale after that write.
func (m ScaleManagers) OfObject(scale []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	entries, err := m.handler().ToParent(scale)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		m.setTime(&entries[i], scale)
	}
	joined, err := join(entries)
	slices.SortStableFunc(joined, InOrder)
	return joined, err
}

// InOrder compares two entries of managed fields. They are stored in this order, which is that of the library.
func InOrder(a, b metav1.ManagedFieldsEntry) int {
	seconds := func(entry metav1.ManagedFieldsEntry) int64 {
		if entry.Time == nil {
			return 0
		}
		return entry.Time.Unix()
	}
	return cmp.Or(
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(seconds(a), seconds(b)), cmp.Compare(a.Manager, b.Manager),
		cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource),
	)
}

// setTime sets the time of an entry that holds the replicas to the time at which its
// manager wrote them. The library takes the time from the object, which the request did
// not write.
func (m ScaleManagers) setTime(entry *metav1.ManagedFieldsEntry, scale []metav1.ManagedFieldsEntry) {
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
		if SameManager(entry, &scale[i]) && at != nil && (entry.Time == nil || entry.Time.Before(at)) {
			entry.Time = at
		}
	}
}

// join merges entries of the same manager and version into one. The library moves the
// replicas into a second entry of their manager if another manager writes the same count.
func join(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	var out []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		existing := findEntry(out, &entry)
		if existing == nil {
			out = append(out, entry)
			continue
		}
		if err := mergeInto(existing, &entry); err != nil {
			return nil, fmt.Errorf("managed fields of %s: %w", entry.Manager, err)
		}
	}
	return out, nil
}

// findEntry returns the entry of the same manager and version, nil if there is none.
func findEntry(entries []metav1.ManagedFieldsEntry, entry *metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	for i := range entries {
		if SameManager(entry, &entries[i]) && entry.APIVersion == entries[i].APIVersion {
			return &entries[i]
		}
	}
	return nil
}

// SameManager says whether two entries belong to one manager, in any version.
func SameManager(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

// mergeInto adds the fields of other to entry.
func mergeInto(entry, other *metav1.ManagedFieldsEntry) error {
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
