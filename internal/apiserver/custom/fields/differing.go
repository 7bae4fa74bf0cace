package fields

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/nesting"
	"holdfast.dev/holdfast/value"
)

// differing calls the library with the parts of objects that differ. Its results share with the stored object what is identical.
type differing struct{ *Library }

var _ Recorder = differing{}

// Update implements Recorder. With several versions, the field manager may convert the objects to another version, and needs them whole.
func (d differing) Update(stored, updated *object.Object, manager string) *object.Object {
	if len(d.Version.Kind.Versions) > 1 {
		return d.Library.Update(stored, updated, manager)
	}
	updates, err := d.manager(&differingTypes{updateTypes: d.updateTypes(), stored: stored})
	if err != nil {
		return d.Library.Update(stored, updated, manager)
	}
	return object.From(updates.UpdateNoErrors(stored, updated, manager))
}

// Apply implements Recorder.
func (d differing) Apply(stored *object.Object, applied Configuration) (*object.Object, error) {
	merged, err := d.Library.Apply(stored, applied)
	if err == nil && stored != nil {
		shareContent(stored.Object, merged.Object)
	}
	return merged, err
}

// differingTypes are the updateTypes of one update or patch. The field manager compares the new object with the stored object, and needs
// only the parts that differ. So differingTypes convert only these. If one of the parts does not fit the schema, they convert both objects.
type differingTypes struct {
	updateTypes
	// stored is the stored object of the write.
	stored *object.Object
	// storedPart is the part of stored that differs from the new object. It is nil if the field manager got the whole new object.
	storedPart *typed.TypedValue
}

// ObjectToTyped implements managedfields.TypeConverter. The field manager converts the new object before the stored object.
func (t *differingTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, isOwn := obj.(*object.Object)
	switch {
	case !isOwn:
	case u != t.stored:
		var newPart *typed.TypedValue
		if newPart, t.storedPart = t.parts(u.Object, options); newPart != nil {
			return newPart, nil
		}
	case t.storedPart != nil:
		return t.storedPart, nil
	}
	return t.updateTypes.ObjectToTyped(obj, options...)
}

// parts converts the parts of the new and of the stored object that differ. It returns nil if a part does not fit the schema.
func (t *differingTypes) parts(updated map[string]any, options []typed.ValidationOptions) (newPart, storedPart *typed.TypedValue) {
	if max(nesting.ContentLevels(updated), nesting.ContentLevels(t.stored.Object)) > nesting.Limit {
		return nil, nil
	}
	shareContent(t.stored.Object, updated)
	was, is := differingParts(t.stored.Object, updated)
	for _, key := range []string{"apiVersion", "kind"} {
		was[key], is[key] = t.stored.Object[key], updated[key]
	}
	newPart, err := t.TypeConverter.ObjectToTyped(&unstructured.Unstructured{Object: is}, options...)
	if err != nil {
		return nil, nil
	}
	if storedPart, err = t.TypeConverter.ObjectToTyped(&unstructured.Unstructured{Object: was}, options...); err != nil {
		return nil, nil
	}
	return newPart, storedPart
}

// differingParts returns the parts of two objects that differ. A field with equal values is in neither part. A list is a part as a whole.
// If both values of a field are objects, and one of them has all fields of the other, the part of the other is empty.
func differingParts(stored, updated map[string]any) (was, is map[string]any) {
	was, is = map[string]any{}, map[string]any{}
	for key, old := range stored {
		changed, ok := updated[key]
		oldObject, isObject := old.(map[string]any)
		newObject, isNewObject := changed.(map[string]any)
		switch {
		case !ok:
			was[key] = old
		case isObject && isNewObject:
			if value.SameObject(oldObject, newObject) {
				continue
			}
			oldPart, newPart := differingParts(oldObject, newObject)
			if len(oldPart)+len(newPart) > 0 {
				was[key], is[key] = oldPart, newPart
			}
		case !value.Strict.Equal(old, changed):
			was[key], is[key] = old, changed
		}
	}
	for key, added := range updated {
		if _, ok := stored[key]; !ok {
			is[key] = added
		}
	}
	return was, is
}

// shareContent replaces the values of an updated object that are identical to those of the stored one by these.
func shareContent(stored, updated map[string]any) {
	for key, old := range stored {
		// The metadata is a map of its own in each object.
		if v, ok := updated[key]; ok && key != "metadata" {
			updated[key] = shared(old, v)
		}
	}
}

// shared returns an updated value that shares with the stored one what is identical, so that later steps see at once what did not
// change. It changes neither value: each may be part of another object.
func shared(stored, updated any) any {
	if value.Identical(stored, updated) {
		return stored
	}
	old, wasObject := stored.(map[string]any)
	obj, isObject := updated.(map[string]any)
	if !wasObject || !isObject {
		return updated
	}
	out := maps.Clone(obj)
	for key, v := range obj {
		if before, ok := old[key]; ok {
			out[key] = shared(before, v)
		}
	}
	return out
}
