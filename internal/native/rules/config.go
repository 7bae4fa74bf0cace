package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxConfig is the largest total size of the values of a ConfigMap or Secret, in bytes.
const maxConfig = 1 << 20

func configRules() []rule {
	return []rule{
		onStruct(configMap),
		onStruct(secret),
		onStruct(secretType),
	}
}

func configMap(r *report, c *corev1.ConfigMap) {
	size := 0
	for _, k := range sortedKeys(c.Data) {
		r.invalidAll(k, validation.IsConfigMapKey(k), "data", key(k))
		if _, twice := c.BinaryData[k]; twice {
			r.invalid(k, "duplicate of key present in binaryData", "data", key(k))
		}
		size += len(c.Data[k])
	}
	for _, k := range sortedKeys(c.BinaryData) {
		r.invalidAll(k, validation.IsConfigMapKey(k), "binaryData", key(k))
		size += len(c.BinaryData[k])
	}
	if size > maxConfig {
		// As in Kubernetes, this error has an empty path.
		r.add(field.ErrorList{field.TooLong(field.NewPath(""), "", maxConfig)})
	}
}

func secret(r *report, s *corev1.Secret) {
	size := 0
	for _, k := range sortedKeys(s.Data) {
		r.invalidAll(k, validation.IsConfigMapKey(k), "data", key(k))
		size += len(s.Data[k])
	}
	if size > maxConfig {
		r.add(field.ErrorList{field.TooLong(r.path("data"), "", maxConfig)})
	}
}

// secretType checks that a Secret has the keys that its type requires. No error message contains a value of the Secret.
func secretType(r *report, s *corev1.Secret) {
	requireKeys := func(names ...string) {
		for _, name := range names {
			if _, ok := s.Data[name]; !ok {
				r.required("", "data", key(name))
			}
		}
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			r.required("", "metadata", "annotations", key(corev1.ServiceAccountNameKey))
		}
	case corev1.SecretTypeDockercfg:
		jsonValue(r, s, corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		jsonValue(r, s, corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		_, user := s.Data[corev1.BasicAuthUsernameKey]
		_, password := s.Data[corev1.BasicAuthPasswordKey]
		if !user && !password {
			requireKeys(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			r.required("", "data", key(corev1.SSHAuthPrivateKey))
		}
	case corev1.SecretTypeTLS:
		requireKeys(corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
}

func jsonValue(r *report, s *corev1.Secret, name string) {
	value, ok := s.Data[name]
	if !ok {
		r.required("", "data", key(name))
		return
	}
	var object map[string]any
	if err := json.Unmarshal(value, &object); err != nil {
		detail := "must be a JSON object"
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			// The text of the error would quote a character of the Secret.
			detail = fmt.Sprintf("invalid JSON at byte %d", syntax.Offset)
		}
		r.invalid("<secret contents redacted>", detail, "data", key(name))
	}
}

// sortedKeys returns the keys of a map in order, without allocating for an empty map.
func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
