package kind

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
)

// Types returns the types by which field managers merge the objects of all versions. The caller has called CompileWrites.
func (k *Kind) Types() managedfields.TypeConverter { return k.types }

// compileTypes builds the types from the schemas of all versions. It also sets Version.Owned and Version.Merged.
func (k *Kind) compileTypes() (managedfields.TypeConverter, error) {
	models := maps.Clone(k.config.Models)
	preserveUnknown := false
	for _, v := range k.Versions {
		shape := v.Compiled.Structural.ToKubeOpenAPI()
		withMetadata(shape)
		gvk := v.GroupVersionKind()
		shape.VendorExtensible.AddExtension("x-kubernetes-group-version-kind", []any{
			map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
		})
		models[definition.ModelName(gvk)] = shape
		preserveUnknown = preserveUnknown || !v.Compiled.Pruned
	}
	for _, v := range k.Versions {
		var err error
		if v.Owned, err = newOwnershipType(v, models); err != nil {
			return nil, err
		}
	}
	types, err := managedfields.NewTypeConverter(models, preserveUnknown)
	if err != nil {
		return nil, fmt.Errorf("merge types of %s: %w", k.GroupKind, err)
	}
	for _, v := range k.Versions {
		gvk := v.GroupVersionKind()
		empty, err := types.ObjectToTyped(object.New(gvk))
		if err != nil {
			return nil, fmt.Errorf("merge type of %s: %w", gvk, err)
		}
		v.Merged = MergeType{empty.Schema(), empty.TypeRef()}
	}
	return types, nil
}

// withMetadata adds apiVersion, kind and metadata to a schema and to the embedded
// resources in it.
func withMetadata(s *spec.Schema) {
	addEmbeddedMetadata(s)
	addMetadata(s)
}

func addMetadata(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + metav1.ObjectMeta{}.OpenAPIModelName()))
}

func addEmbeddedMetadata(s *spec.Schema) {
	for name, child := range s.Properties {
		addEmbeddedMetadata(&child)
		s.Properties[name] = child
	}
	if s.Items != nil && s.Items.Schema != nil {
		addEmbeddedMetadata(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		addEmbeddedMetadata(s.AdditionalProperties.Schema)
	}
	if embedded, ok := s.VendorExtensible.Extensions.GetBool("x-kubernetes-embedded-resource"); ok && embedded {
		addMetadata(s)
	}
}
