package fields

import (
	"bytes"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// removeReleased removes from a merged object the fields that its manager applied before and does not apply any more, and that no other
// manager owns. The library removes them too, except a field with a default in another version: the library converts the object to the
// versions of all managers, and the default looks like a field that must stay. A conversion webhook may give a field another name, so
// that only the library can decide about it.
func (l *Library) removeReleased(stored, merged *object.Object, manager string) error {
	conversion := l.Version.Kind.CRD.Spec.Conversion
	if len(l.Version.Kind.Versions) == 1 || conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter {
		return nil
	}
	before, err := union(stored.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == l.Subresource
	})
	if err != nil || before.Empty() {
		return err
	}
	after, err := union(merged.GetManagedFields(), func(metav1.ManagedFieldsEntry) bool { return true })
	if err != nil {
		return err
	}
	schema, ref := l.Version.Merged.Schema, l.Version.Merged.Ref
	released := before.Difference(after.EnsureNamedFieldsAreMembers(schema, ref))
	if released.Empty() {
		return nil
	}
	value, err := l.Version.Kind.Types().ObjectToTyped(merged)
	if err != nil {
		return errWrongShape
	}
	left, err := l.Version.Kind.Types().TypedToObject(value.RemoveItems(released))
	if err != nil {
		return errWrongShape
	}
	merged.Object = object.From(left).Object
	return nil
}

// union returns the fields of the entries that are chosen.
func union(entries []metav1.ManagedFieldsEntry, choose func(metav1.ManagedFieldsEntry) bool) (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, entry := range entries {
		if !choose(entry) || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, err
		}
		all = all.Union(set)
	}
	return all, nil
}
