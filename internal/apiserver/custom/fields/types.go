package fields

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/nesting"
)

// errTooDeep is the error for an object with more levels than package nesting allows. Such an object was stored by an earlier release,
// or admission will refuse it. The field manager would need time that grows with the square of the levels. After the error it keeps the
// stored managed fields and lets the update go on.
var errTooDeep = apierrors.NewBadRequest("the stored object is too deep; before you apply, remove levels with an update or a patch: " +
	nesting.Error{What: "the object"}.Error())

// errWrongShape replaces an error that could contain values of the object.
var errWrongShape = errors.New("the object does not have the shape that its schema demands")

// updateTypes converts objects for the field manager of updates. If a value has a wrong type, it converts the object without that
// value. Such a value was stored under an earlier schema, or validation will reject it later. Without updateTypes the conversion would
// fail, and the field manager would log the value, which may be a secret.
type updateTypes struct {
	managedfields.TypeConverter
	kind *kind.Kind
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t updateTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := object.AsUnstructured(obj).(*unstructured.Unstructured)
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
	v := versionOf(t.kind, u)
	if v == nil {
		return nil, err
	}
	fitting := &unstructured.Unstructured{Object: v.Compiled.Skeleton.Fitting(u.Object)}
	if value, err = t.TypeConverter.ObjectToTyped(fitting, options...); err != nil {
		return nil, errWrongShape
	}
	return value, nil
}

// versionOf returns the version of an object, nil if the kind does not have it.
func versionOf(k *kind.Kind, obj *unstructured.Unstructured) *kind.Version {
	gvk := obj.GroupVersionKind()
	if gvk.Group != k.Group {
		return nil
	}
	return k.Versions[gvk.Version]
}

// applyTypes converts objects for the field manager of one server-side apply. The field manager builds the merged object from the
// result, so applyTypes leaves no value out. Its errors contain no values of the stored object.
type applyTypes struct {
	managedfields.TypeConverter
	version *kind.Version
	// applied is the configuration. For the manager kubectl, the library also converts the configuration in the last-applied annotation
	// of the stored object.
	applied *unstructured.Unstructured
	// refused is set if the applied configuration cannot be merged.
	refused bool
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t *applyTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	u, ok := object.AsUnstructured(obj).(*unstructured.Unstructured)
	if !ok {
		return t.TypeConverter.ObjectToTyped(obj, options...)
	}
	if nesting.ContentLevels(u.Object) > nesting.Limit {
		return nil, errTooDeep
	}
	value, err := t.TypeConverter.ObjectToTyped(u, options...)
	var found typed.ValidationErrors
	if errors.As(err, &found) && versionOf(t.version.Kind, u) != nil {
		if u != t.applied {
			return nil, errWrongShape
		}
		t.refused = true
	}
	return value, err
}

// TypedToObject implements managedfields.TypeConverter. It copies the merged object, which shares values with the stored object: the
// field manager and admission change it afterwards.
func (t *applyTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	obj, err := t.TypeConverter.TypedToObject(value)
	if err != nil {
		return nil, err
	}
	merged := object.FromUnstructured(obj.DeepCopyObject())
	if u, ok := merged.(*object.Object); ok {
		u.Sets = t.version.Sets()
	}
	return merged, nil
}
