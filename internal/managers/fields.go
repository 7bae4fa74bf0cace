// Package managers examines and changes the managed fields of one object: the record of the API server which manager owns which field. A
// manager is the name that a client gives with its writes. An entry has the fields of one manager and one operation: Apply for
// server-side apply, Update for all other writes.
//
//	fields := managers.New(obj.GetManagedFields(), time.Now())
//	released, err := fields.Release(path, "holdfast-transfer")
//	obj.SetManagedFields(fields.Entries())
//
// Examine finds the fields of an object that no apply removes any more, and why:
//
//	found, err := managers.Examine(ownership.Subject{Type: t, Object: obj.Object, Managers: obj.GetManagedFields()}, nil)
//
// The functions use no client. They never change the entries that they get: a change copies them.
package managers

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Fields are the managed fields of an object.
type Fields struct {
	entries []metav1.ManagedFieldsEntry
	changed bool
	// at is the time of the entries that get fields.
	at metav1.Time
}

// New returns the managed fields of an object. Entries that get fields get the time at.
func New(entries []metav1.ManagedFieldsEntry, at time.Time) *Fields {
	return &Fields{entries: entries, at: metav1.NewTime(at.UTC().Truncate(time.Second))}
}

// Entries returns the entries with the changes.
func (f *Fields) Entries() []metav1.ManagedFieldsEntry { return f.entries }

// Changed reports whether an entry was changed.
func (f *Fields) Changed() bool { return f.changed }

// Appliers returns the managers of server-side apply.
func (f *Fields) Appliers() []string {
	var names []string
	for _, entry := range f.entries {
		if isApplier(entry) && entry.Subresource == "" && !slices.Contains(names, entry.Manager) {
			names = append(names, entry.Manager)
		}
	}
	return names
}

func isApplier(entry metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource != "status"
}

func isUpdater(entry metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource != "status"
}

// Take removes fields from entries: part returns the fields of an entry to remove. Take returns the fields that it removed, and the
// API version that they are in. An entry without fields is removed.
func (f *Fields) Take(
	part func(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) *fieldpath.Set,
) (*fieldpath.Set, string, error) {
	taken, version := fieldpath.NewSet(), ""
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range f.entries {
		set, err := Decode(entry)
		if err != nil {
			return nil, "", err
		}
		removed := part(entry, set)
		if removed == nil || removed.Empty() {
			kept = append(kept, entry)
			continue
		}
		taken, version = taken.Union(removed), entry.APIVersion
		rest := set.Difference(removed)
		if rest.Empty() {
			continue
		}
		if entry.FieldsV1, err = Encode(rest); err != nil {
			return nil, "", err
		}
		kept = append(kept, entry)
	}
	if !taken.Empty() {
		f.entries, f.changed = kept, true
	}
	return taken, version, nil
}

// Add adds fields to the entry of a manager and its operation, which it creates if there is none. If to has a time, the entry keeps
// its own time or gets that one.
func (f *Fields) Add(to metav1.ManagedFieldsEntry, fields *fieldpath.Set) (err error) {
	f.entries = slices.Clone(f.entries)
	f.changed = true
	at := slices.IndexFunc(f.entries, func(entry metav1.ManagedFieldsEntry) bool { return isSame(entry, to) })
	if at < 0 {
		to.FieldsType = "FieldsV1"
		if to.Time == nil {
			to.Time = &f.at
		}
		if to.FieldsV1, err = Encode(fields); err != nil {
			return err
		}
		f.entries = append(f.entries, to)
		return nil
	}
	entry := &f.entries[at]
	set, err := Decode(*entry)
	if err != nil {
		return err
	}
	if to.Time == nil {
		entry.Time = &f.at
	}
	entry.FieldsV1, err = Encode(set.Union(fields))
	return err
}

// Decode returns the fields of an entry.
func Decode(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", entry.Manager, err)
	}
	return set, nil
}

// Encode returns fields as an entry has them.
func Encode(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encode managed fields: %w", err)
	}
	return metav1.NewFieldsV1(string(text)), nil
}
