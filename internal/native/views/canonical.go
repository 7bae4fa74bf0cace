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

// canonical converts last-applied configurations of one kind to their canonical form.
type canonical struct {
	scheme *runtime.Scheme
	// hub is the stored version of the kind.
	hub schema.GroupVersionKind
}

// decode decodes a configuration in any version into the Go type of the stored version and
// encodes it again. Values such as quantities and times then have the same form as in the
// stored object. It also returns the unknown fields of the configuration.
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
	if c.isOlder(gvk) {
		upgraded, err := c.upgrade(config)
		if err != nil {
			return nil, nil, err
		}
		return c.decode(upgraded)
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
	MergeStringData(obj)
	content, err := Content(obj)
	return content, unknown, err
}

// withDefaults returns the content of an object with the defaults of the kind.
func (c canonical) withDefaults(obj map[string]any) (map[string]any, error) {
	typed, err := c.scheme.New(c.hub)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		return nil, err
	}
	c.scheme.Default(typed)
	return Content(typed)
}

// MergeStringData moves the stringData of a Secret into data, as the server does before
// it stores the object. It does nothing to objects of other kinds.
func MergeStringData(obj runtime.Object) {
	secret, ok := obj.(*corev1.Secret)
	if !ok {
		return
	}
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}
