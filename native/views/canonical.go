package views

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"
)

// canonical decodes configurations of one kind.
type canonical struct {
	scheme *runtime.Scheme
	hub    schema.GroupVersionKind
}

// decode reads a configuration into the Go type of its kind and back, so that
// quantities, times and the like are written as they are stored.
func (c canonical) decode(config []byte) (map[string]any, []string, error) {
	var kind metav1.TypeMeta
	if err := json.UnmarshalCaseSensitivePreserveInts(config, &kind); err != nil {
		return nil, nil, err
	}
	gvk := kind.GroupVersionKind()
	if gvk.Kind == "" {
		gvk = c.hub
	}
	if gvk.Kind != c.hub.Kind {
		return nil, nil, fmt.Errorf("kind %q, not %s", gvk.Kind, c.hub.Kind)
	}
	obj, err := c.scheme.New(gvk)
	if err != nil {
		return nil, nil, fmt.Errorf("version %q is not known", gvk.GroupVersion())
	}
	wrong, err := json.UnmarshalStrict(config, obj, json.DisallowUnknownFields)
	if err != nil {
		return nil, nil, err
	}
	var unknown []string
	for _, err := range wrong {
		unknown = append(unknown, strings.TrimPrefix(err.Error(), "unknown field "))
	}
	if gvk.GroupVersion() != c.hub.GroupVersion() {
		hub, err := c.scheme.New(c.hub)
		if err != nil {
			return nil, nil, err
		}
		if err := c.scheme.Convert(obj, hub, nil); err != nil {
			return nil, nil, err
		}
		obj = hub
	}
	if secret, ok := obj.(*corev1.Secret); ok {
		fold(secret)
	}
	content, err := Content(obj)
	return content, unknown, err
}

// fold does what the server does on a write: what stringData says, data says.
func fold(secret *corev1.Secret) {
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}
