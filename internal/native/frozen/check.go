package frozen

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
)

// message is the message of Kubernetes for all frozen fields.
const message = "field is immutable"

// policies compiles the table once, on first use.
var policies = sync.OnceValue(func() map[reflect.Type]*immutability.Policy {
	compiled := map[reflect.Type]*immutability.Policy{}
	for kind, rules := range table() {
		policy, err := immutability.Declare(rules)
		if err != nil {
			// An error in the table is a programming error. The tests of this package
			// find it.
			panic(fmt.Sprintf("frozen fields of %s: %v", kind, err))
		}
		compiled[kind] = policy
	}
	return compiled
})

// Check returns an error for each frozen field that differs in newObj. Both objects have the
// same Go type.
func Check(newObj, oldObj runtime.Object) field.ErrorList {
	return append(CheckFields(newObj, oldObj), CheckConfig(newObj, oldObj)...)
}

// CheckConfig returns the errors of Check that the field immutable of a ConfigMap or Secret causes.
func CheckConfig(newObj, oldObj runtime.Object) field.ErrorList {
	switch oldObj := oldObj.(type) {
	case *corev1.ConfigMap:
		return configMapErrors(newObj.(*corev1.ConfigMap), oldObj)
	case *corev1.Secret:
		return secretErrors(newObj.(*corev1.Secret), oldObj)
	}
	return nil
}

// CanReject reports whether Check could reject an update of this object: its kind has frozen
// fields, or it is an immutable ConfigMap.
func CanReject(obj runtime.Object) bool {
	if configMap, ok := obj.(*corev1.ConfigMap); ok {
		return isTrue(configMap.Immutable)
	}
	return policies()[reflect.TypeOf(obj).Elem()] != nil
}

// CheckFields returns the errors of Check that are about fields of the table.
func CheckFields(newObj, oldObj runtime.Object) field.ErrorList {
	policy := policies()[reflect.TypeOf(newObj).Elem()]
	if policy == nil {
		return nil
	}
	newContent, err := content(newObj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	oldContent, err := content(oldObj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return errorsOf(policy.Check(oldContent, newContent), newContent)
}

// content converts an object to maps. It leaves out metadata and status, for which there are
// no rules. Exceptions of the rules for claims and Jobs read the status. A manifest has no UID, and
// its status says nothing.
func content(obj runtime.Object) (map[string]any, error) {
	bare := reflect.New(reflect.TypeOf(obj).Elem())
	bare.Elem().Set(reflect.ValueOf(obj).Elem())
	unused := []string{"ObjectMeta", "Status"}
	switch obj := obj.(type) {
	case *batchv1.Job:
		unused = unused[:1]
	case *corev1.PersistentVolumeClaim:
		if obj.UID != "" {
			unused = unused[:1]
		}
	}
	for _, name := range unused {
		if value := bare.Elem().FieldByName(name); value.IsValid() {
			value.SetZero()
		}
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface())
}

// errorsOf returns one error for each field of the table, with the whole value of the field,
// as Kubernetes does. If the table freezes a whole spec, the error has the path of the field
// within it.
func errorsOf(violations []immutability.Violation, newContent map[string]any) field.ErrorList {
	var errs field.ErrorList
	reported := map[string]bool{}
	for _, violation := range violations {
		path, value := violation.SchemaPath.String(), violation.New
		if path == "spec" {
			path = violation.Path.String()
		} else {
			value = at(newContent, strings.Split(path, ".")...)
		}
		if reported[path] {
			continue
		}
		reported[path] = true
		errs = append(errs, field.Invalid(field.NewPath(path), value, message).WithOrigin("immutable"))
	}
	return errs
}
