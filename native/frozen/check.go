package frozen

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
)

// message is what Kubernetes says of every frozen field.
const message = "field is immutable"

// policies are compiled when the first update asks for them.
var policies = sync.OnceValue(func() map[reflect.Type]*immutability.Policy {
	compiled := map[reflect.Type]*immutability.Policy{}
	for kind, rules := range table() {
		policy, err := immutability.Declare(rules)
		if err != nil {
			// The table is code; a test declares all of it.
			panic(fmt.Sprintf("frozen fields of %s: %v", kind, err))
		}
		compiled[kind] = policy
	}
	return compiled
})

// Check returns an error for every frozen field that newObj changes. Both
// objects are of one Go type.
func Check(newObj, oldObj runtime.Object) field.ErrorList {
	switch oldObj := oldObj.(type) {
	case *corev1.ConfigMap:
		return configMapErrors(newObj.(*corev1.ConfigMap), oldObj)
	case *corev1.Secret:
		return append(check(newObj, oldObj), secretErrors(newObj.(*corev1.Secret), oldObj)...)
	}
	return check(newObj, oldObj)
}

// Holds says whether some update of an object would be refused: its kind has
// frozen fields, or it is a ConfigMap that is sealed.
func Holds(obj runtime.Object) bool {
	if configMap, ok := obj.(*corev1.ConfigMap); ok {
		return isTrue(configMap.Immutable)
	}
	return policies()[reflect.TypeOf(obj).Elem()] != nil
}

func check(newObj, oldObj runtime.Object) field.ErrorList {
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

// content is an object without its metadata and status, which no rule names.
func content(obj runtime.Object) (map[string]any, error) {
	bare := reflect.New(reflect.TypeOf(obj).Elem())
	bare.Elem().Set(reflect.ValueOf(obj).Elem())
	for _, name := range []string{"ObjectMeta", "Status"} {
		if value := bare.Elem().FieldByName(name); value.IsValid() {
			value.SetZero()
		}
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(bare.Interface())
}

// errorsOf reports each field of the table once, as a whole, the way Kubernetes
// does. Where the table holds a whole spec, the field in it is named instead.
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
		errs = append(errs, field.Invalid(field.NewPath(path), value, message))
	}
	return errs
}
