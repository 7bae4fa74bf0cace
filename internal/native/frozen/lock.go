package frozen

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/value"
)

// Locks are the frozen fields of one object.
type Locks struct {
	// Fields are the fields that the table freezes, with exceptions for parts of them.
	Fields []immutability.Lock
	// Immutable are the fields of a ConfigMap or Secret that its field immutable freezes.
	Immutable []immutability.Lock
}

// LocksOf returns the frozen fields of an object.
func LocksOf(obj runtime.Object) (Locks, error) {
	var locks Locks
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		if isTrue(obj.Immutable) {
			locks.Immutable = immutableLocks("binaryData", "data", "immutable")
		}
	case *corev1.Secret:
		if isTrue(obj.Immutable) {
			locks.Immutable = immutableLocks("data", "immutable")
		}
	}
	policy := policies()[reflect.TypeOf(obj).Elem()]
	if policy == nil {
		return locks, nil
	}
	values, err := content(obj)
	if err != nil {
		return locks, err
	}
	locks.Fields = policy.Locks(values)
	return locks, nil
}

func immutableLocks(names ...string) []immutability.Lock {
	var locks []immutability.Lock
	for _, name := range names {
		path := value.NewPath(value.Step{Name: name})
		locks = append(locks, immutability.Lock{Path: path, Marker: immutability.Immutable, SchemaPath: path})
	}
	return locks
}
