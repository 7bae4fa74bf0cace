package rules

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns everything that keeps obj from being created. An object of a kind without rules of its own is
// checked against its published schema; one without metadata, or a nil one, has no errors.
func Validate(obj runtime.Object) field.ErrorList {
	v, ok := structOf(obj)
	if !ok {
		return nil
	}
	r := &report{create: true, claims: claimsOf(obj)}
	if object, err := meta.Accessor(obj); err == nil {
		r.add(validateMeta(object, nameRule(v.Type())))
	}
	r.walk(kinds().of(v.Type()), v)
	return r.errs
}

// ValidateUpdate returns everything that keeps newObj from replacing oldObj, apart from changes of frozen fields.
// Both are of one Go type.
func ValidateUpdate(newObj, oldObj runtime.Object) field.ErrorList {
	v, ok := structOf(newObj)
	if !ok {
		return nil
	}
	r := &report{old: oldObj, claims: claimsOf(newObj)}
	r.add(validateMetaUpdate(newObj, oldObj))
	r.walk(kinds().of(v.Type()), v)
	return r.errs
}

// ValidateStatus returns everything that keeps the status of newObj from replacing that of oldObj. The spec is not
// looked at: a status write leaves it as it is.
func ValidateStatus(newObj, oldObj runtime.Object) field.ErrorList {
	v, ok := structOf(newObj)
	if !ok {
		return nil
	}
	r := &report{old: oldObj}
	r.add(validateMetaUpdate(newObj, oldObj))
	r.walk(statuses().of(v.Type()), v)
	return r.errs
}

func structOf(obj runtime.Object) (reflect.Value, bool) {
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	return v.Elem(), true
}

// claimsOf gives the names under which the pods of a StatefulSet find their own claims.
func claimsOf(obj runtime.Object) []string {
	set, ok := obj.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	names := make([]string, 0, len(set.Spec.VolumeClaimTemplates))
	for i := range set.Spec.VolumeClaimTemplates {
		names = append(names, set.Spec.VolumeClaimTemplates[i].Name)
	}
	return names
}

func validateMeta(object metav1.Object, name validation.ValidateNameFunc) field.ErrorList {
	// Scope is the registry's business: an object with a namespace is taken to be namespaced.
	namespaced := object.GetNamespace() != ""
	return validation.ValidateObjectMetaAccessor(object, namespaced, name, field.NewPath("metadata"))
}

func validateMetaUpdate(newObj, oldObj runtime.Object) field.ErrorList {
	newMeta, err := meta.Accessor(newObj)
	if err != nil {
		return nil
	}
	oldMeta, err := meta.Accessor(oldObj)
	if err != nil {
		return nil
	}
	return validation.ValidateObjectMetaAccessorUpdate(newMeta, oldMeta, field.NewPath("metadata"))
}
