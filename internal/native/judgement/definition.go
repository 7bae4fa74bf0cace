package judgement

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/json"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// DefinitionType returns the type of CustomResourceDefinitions. kubectl applies them as
// it applies custom resources.
func DefinitionType() *ownership.Type {
	return &ownership.Type{
		Applied: ownership.Untyped(), Managed: ownership.Untyped(),
		Canonical: CanonicalDefinition, Default: DefaultDefinition,
	}
}

// CanonicalDefinition is the ownership.Type.Canonical of definitions. It translates a
// configuration in either API version to v1, as the server stores and shows it, and
// returns the names of unknown fields.
func CanonicalDefinition(config []byte) (canonical map[string]any, unknown []string, err error) {
	is := metav1.TypeMeta{}
	if err := json.UnmarshalCaseSensitivePreserveInts(config, &is); err != nil {
		return nil, nil, err
	}
	gvk := is.GroupVersionKind()
	if gvk.Kind == "" {
		gvk = definition.Kind
	}
	var (
		stored = &definition.CustomResourceDefinition{}
		older  v1beta1.CustomResourceDefinition
		wrong  []error
	)
	switch {
	case gvk.Kind != definition.Kind.Kind:
		return nil, nil, fmt.Errorf("kind %q, not %s", gvk.Kind, definition.Kind.Kind)
	case gvk == definition.Kind:
		wrong, err = json.UnmarshalStrict(config, stored, json.DisallowUnknownFields)
	case gvk.Group == definition.GroupName && gvk.Version == definition.V1beta1:
		wrong, err = json.UnmarshalStrict(config, &older, json.DisallowUnknownFields)
		stored = older.ToStored()
	default:
		return nil, nil, fmt.Errorf("version %q is not known", gvk.GroupVersion())
	}
	if err != nil {
		return nil, nil, err
	}
	for _, err := range wrong {
		unknown = append(unknown, strings.TrimPrefix(err.Error(), "unknown field "))
	}
	for _, path := range definition.AsWritten(stored, gvk.Version) {
		unknown = append(unknown, fmt.Sprintf("%q", path))
	}
	canonical, err = views.Content(stored)
	return canonical, unknown, err
}

// DefaultDefinition is the ownership.Type.Default of definitions.
func DefaultDefinition(obj map[string]any) (map[string]any, error) {
	data, err := utiljson.Marshal(obj)
	if err != nil {
		return nil, err
	}
	crd := &definition.CustomResourceDefinition{}
	if err := json.UnmarshalCaseSensitivePreserveInts(data, crd); err != nil {
		return nil, err
	}
	definition.SetDefaults(crd)
	return views.Content(crd)
}
