package custom

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// merger merges what is applied into objects and keeps track of who owns which
// field, on every write, by the types of a definition.
type merger struct{ types managedfields.TypeConverter }

// scope gives a scope of requests its merger; reset are the fields that writes to
// it leave alone.
func (m merger) scope(scope handlers.RequestScope, reset map[fieldpath.APIVersion]*fieldpath.Set) (*handlers.RequestScope, error) {
	manager, err := managedfields.NewDefaultCRDFieldManager(m.types, scope.Convertor, scope.Defaulter, scope.Creater,
		scope.Kind, scope.HubGroupVersion, scope.Subresource, fieldpath.NewExcludeFilterSetMap(reset))
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", scope.Kind, err)
	}
	scope.FieldManager = manager
	return &scope, nil
}

// newMerger makes the types that objects of a definition are merged by.
func newMerger(d *resource) (merger, error) {
	models := maps.Clone(d.server.config.Models)
	loose := false
	for _, v := range d.versions {
		shape := v.compiled.Structural.ToKubeOpenAPI()
		withMetadata(shape)
		gvk := v.groupVersionKind()
		shape.VendorExtensible.AddExtension("x-kubernetes-group-version-kind", []any{
			map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
		})
		models[modelName(gvk)] = shape
		loose = loose || !v.compiled.Pruned
	}
	for _, v := range d.versions {
		var err error
		if v.owned, err = newOwned(v, models); err != nil {
			return merger{}, err
		}
	}
	types, err := managedfields.NewTypeConverter(models, loose)
	if err != nil {
		return merger{}, fmt.Errorf("merge types of %s: %w", d.kind, err)
	}
	return merger{types}, nil
}

// withMetadata adds what every object has, to the object and to those inside.
func withMetadata(s *spec.Schema) {
	embed(s)
	addMetadata(s)
}

func addMetadata(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + metav1.ObjectMeta{}.OpenAPIModelName()))
}

func embed(s *spec.Schema) {
	for name, child := range s.Properties {
		embed(&child)
		s.Properties[name] = child
	}
	if s.Items != nil && s.Items.Schema != nil {
		embed(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		embed(s.AdditionalProperties.Schema)
	}
	if yes, ok := s.VendorExtensible.Extensions.GetBool("x-kubernetes-embedded-resource"); ok && yes {
		addMetadata(s)
	}
}

// modelName is how a kind is called in OpenAPI documents.
func modelName(gvk runtimeKind) string {
	parts := strings.Split(gvk.Group, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + gvk.Version + "." + gvk.Kind
}
