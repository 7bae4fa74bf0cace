package custom

import (
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/nesting"
)

// pruneOwners removes from the managedFields of an object, in place, the fields that
// the schema does not have. It uses the schema of the version that each manager wrote.
// It is called after such fields were pruned from the object itself.
func (r *resource) pruneOwners(obj map[string]any) {
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	if len(entries) == 0 {
		return
	}
	kept := make([]any, 0, len(entries))
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		if fields, ok := entry["fieldsV1"].(map[string]any); ok {
			v := r.versionOf(entry)
			// The object may share its field sets with others.
			fields = runtime.DeepCopyJSON(fields)
			if v != nil && v.compiled.Pruned && v.compiled.Skeleton.PruneFields(fields) {
				if len(fields) == 0 {
					continue
				}
				entry = maps.Clone(entry)
				entry["fieldsV1"] = fields
				item = entry
			}
		}
		kept = append(kept, item)
	}
	metadata["managedFields"] = kept
}

// normalizeOwners removes from the managedFields of a normalized object the fields that
// normalization has removed from the object. Server-side apply is the reason: a manager owns
// everything that it applies, an empty list too. Only a manager that wrote this version can own
// such a field.
func (v *version) normalizeOwners(obj map[string]any) {
	if !v.compiled.Skeleton.Normalizes() {
		return
	}
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	if len(entries) == 0 {
		return
	}
	kept := make([]any, 0, len(entries))
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		fields, ok := entry["fieldsV1"].(map[string]any)
		if !ok || v.resource.versionOf(entry) != v {
			kept = append(kept, item)
			continue
		}
		// The object may share its field sets with a stored object.
		fields = runtime.DeepCopyJSON(fields)
		if v.compiled.Skeleton.NormalizeFields(fields, obj) {
			if len(fields) == 0 {
				continue
			}
			entry = maps.Clone(entry)
			entry["fieldsV1"] = fields
			item = entry
		}
		kept = append(kept, item)
	}
	metadata["managedFields"] = kept
}

// versionOf returns the version that the apiVersion of obj names, or nil.
func (r *resource) versionOf(obj map[string]any) *version {
	apiVersion, _ := obj["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Group != r.crd.Spec.Group {
		return nil
	}
	return r.versions[gv.Version]
}

// updateTypes converts objects for the field manager of updates. If a value has a wrong
// type, it converts the object without that value. Such a value was stored under an earlier
// schema, or validation will reject it later. Without updateTypes the conversion would
// fail, and the field manager would log the value, which may be a secret.
type updateTypes struct {
	managedfields.TypeConverter
	resource *resource
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t updateTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := plain(obj).(*unstructured.Unstructured)
	if !ok {
		return t.TypeConverter.ObjectToTyped(obj, options...)
	}
	if nesting.ContentLevels(u.Object) > nesting.Limit {
		return nil, errTooDeep
	}
	value, err := t.TypeConverter.ObjectToTyped(u, options...)
	if err == nil {
		return value, nil
	}
	v := t.resource.versionOf(u.Object)
	if v == nil {
		return nil, err
	}
	fitting := &unstructured.Unstructured{Object: v.compiled.Skeleton.Fitting(u.Object)}
	if value, err = t.TypeConverter.ObjectToTyped(fitting, options...); err != nil {
		return nil, errWrongShape
	}
	return value, nil
}

// applyTypes converts objects for the field manager of one server-side apply. The field
// manager builds the merged object from the result, so applyTypes leaves no value out. Its
// errors contain no values of the stored object.
type applyTypes struct {
	managedfields.TypeConverter
	resource *resource
	// applied is the configuration of the request if the handler knows only its outline, or nil.
	applied map[string]any
	// refused is set if the applied configuration cannot be merged.
	refused *bool
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t applyTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := plain(obj).(*unstructured.Unstructured)
	if !ok {
		return t.TypeConverter.ObjectToTyped(obj, options...)
	}
	_, isStored := obj.(*object)
	if !isStored && t.applied != nil {
		// An Unstructured is the outline that the handler decoded from the body. The library
		// creates one more for the manager kubectl, but then applied is nil, see readsWhole.
		u = &unstructured.Unstructured{Object: t.applied}
	}
	if nesting.ContentLevels(u.Object) > nesting.Limit {
		return nil, errTooDeep
	}
	value, err := t.TypeConverter.ObjectToTyped(u, options...)
	if err != nil && t.resource.versionOf(u.Object) != nil {
		var found typed.ValidationErrors
		if errors.As(err, &found) {
			if *t.refused = !isStored; isStored {
				return nil, errWrongShape
			}
		}
	}
	return value, err
}

// TypedToObject implements managedfields.TypeConverter. It copies the merged object, which shares
// values with the stored object: the field manager and admission change it afterwards.
func (t applyTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	obj, err := t.TypeConverter.TypedToObject(value)
	if err != nil {
		return nil, err
	}
	merged := own(obj.DeepCopyObject())
	if u, ok := merged.(*object); ok {
		u.sets = t.resource.server.sets
	}
	return merged, nil
}

// errTooDeep is the error for an object with more levels than package nesting allows. Such an
// object was stored by an earlier release, or admission will refuse it. The field manager
// would need time that grows with the square of the levels. After the error it keeps the
// stored managed fields and lets the update go on.
var errTooDeep = apierrors.NewBadRequest("the stored object is too deep; before you apply, remove levels with an update or a patch: " +
	nesting.Error{What: "the object"}.Error())

// errWrongShape replaces an error that could contain values of the object.
var errWrongShape = errors.New("the object does not have the shape that its schema demands")
