package custom

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// pruneOwners takes from the managedFields of an object, in place, the fields
// that the schema does not specify, each by the version that its manager wrote.
// It is for an object that has lost such fields itself: who had them owns
// nothing any more.
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
			if v != nil && v.compiled.Pruned && v.compiled.Skeleton.PruneFields(fields) && len(fields) == 0 {
				continue
			}
		}
		kept = append(kept, item)
	}
	metadata["managedFields"] = kept
}

// versionOf is the version that something with an apiVersion is written in, nil
// if there is none.
func (r *resource) versionOf(obj map[string]any) *version {
	apiVersion, _ := obj["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Group != r.crd.Spec.Group {
		return nil
	}
	return r.versions[gv.Version]
}

// updateTypes are the merge types for keeping track of owners in an update,
// which must never fail: values of a wrong type, in storage or about to be
// refused, are not tracked. Upstream would log the value that it stumbles on.
type updateTypes struct {
	managedfields.TypeConverter
	resource *resource
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t updateTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	value, err := t.TypeConverter.ObjectToTyped(obj, options...)
	u, ok := obj.(*object)
	if err == nil || !ok {
		return value, err
	}
	v := t.resource.versionOf(u.Object)
	if v == nil {
		return nil, err
	}
	fitting := &object{Object: v.compiled.Skeleton.Fitting(u.Object)}
	if value, err = t.TypeConverter.ObjectToTyped(fitting, options...); err != nil {
		return nil, errUnfit
	}
	return value, nil
}

// applyTypes are the merge types for server-side apply, whose result is made of
// what they give: nothing is left out. Their errors name no values.
type applyTypes struct {
	managedfields.TypeConverter
	resource *resource
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t applyTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	value, err := t.TypeConverter.ObjectToTyped(obj, options...)
	if u, ok := obj.(*object); err != nil && ok && t.resource.versionOf(u.Object) != nil {
		var found typed.ValidationErrors
		if errors.As(err, &found) {
			return nil, errUnfit
		}
	}
	return value, err
}

// errUnfit stands for errors that would show values.
var errUnfit = errors.New("the object does not have the shape that its schema demands")
