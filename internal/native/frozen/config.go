package frozen

import (
	"bytes"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// immutableMessage is the message of Kubernetes, including its quotes. It contains no value,
// because that could be the value of a Secret.
const immutableMessage = "field is immutable when `immutable` is set"

func configMapErrors(newMap, oldMap *corev1.ConfigMap) field.ErrorList {
	if !isTrue(oldMap.Immutable) {
		return nil
	}
	errs := immutableErrors(newMap.Immutable)
	if !maps.Equal(newMap.Data, oldMap.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), immutableMessage))
	}
	if !maps.EqualFunc(newMap.BinaryData, oldMap.BinaryData, bytes.Equal) {
		errs = append(errs, field.Forbidden(field.NewPath("binaryData"), immutableMessage))
	}
	return errs
}

func secretErrors(newSecret, oldSecret *corev1.Secret) field.ErrorList {
	if !isTrue(oldSecret.Immutable) {
		return nil
	}
	errs := immutableErrors(newSecret.Immutable)
	if !maps.EqualFunc(newSecret.Data, oldSecret.Data, bytes.Equal) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), immutableMessage))
	}
	return errs
}

// immutableErrors returns an error if the field immutable is removed or set to false.
func immutableErrors(immutable *bool) field.ErrorList {
	if isTrue(immutable) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("immutable"), immutableMessage)}
}

func isTrue(value *bool) bool { return value != nil && *value }
