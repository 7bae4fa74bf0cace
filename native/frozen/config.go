package frozen

import (
	"bytes"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// sealedMessage is Kubernetes' own, quotes included. No value is in it: it may
// be a Secret's.
const sealedMessage = "field is immutable when `immutable` is set"

func configMapErrors(newMap, oldMap *corev1.ConfigMap) field.ErrorList {
	if !isTrue(oldMap.Immutable) {
		return nil
	}
	errs := sealErrors(newMap.Immutable)
	if !maps.Equal(newMap.Data, oldMap.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), sealedMessage))
	}
	if !maps.EqualFunc(newMap.BinaryData, oldMap.BinaryData, bytes.Equal) {
		errs = append(errs, field.Forbidden(field.NewPath("binaryData"), sealedMessage))
	}
	return errs
}

func secretErrors(newSecret, oldSecret *corev1.Secret) field.ErrorList {
	if !isTrue(oldSecret.Immutable) {
		return nil
	}
	errs := sealErrors(newSecret.Immutable)
	if !maps.EqualFunc(newSecret.Data, oldSecret.Data, bytes.Equal) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), sealedMessage))
	}
	return errs
}

func sealErrors(immutable *bool) field.ErrorList {
	if isTrue(immutable) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("immutable"), sealedMessage)}
}

func isTrue(value *bool) bool { return value != nil && *value }
