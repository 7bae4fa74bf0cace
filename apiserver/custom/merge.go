package custom

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/definition"
)

// merger creates the field managers of a resource. A field manager merges applied
// configurations and records on every write which manager owns which field.
type merger struct{ types managedfields.TypeConverter }

// scope returns a copy of a request scope with a field manager. reset are the fields
// that a write to the scope does not change.
func (m merger) scope(scope handlers.RequestScope, reset map[fieldpath.APIVersion]*fieldpath.Set) (*handlers.RequestScope, error) {
	conversion := scope.Convertor
	if c, ok := conversion.(convertor); ok {
		conversion = managerConvertor{c}
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(m.types, conversion, scope.Defaulter, scope.Creater,
		scope.Kind, scope.HubGroupVersion, scope.Subresource, fieldpath.NewExcludeFilterSetMap(reset))
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", scope.Kind, err)
	}
	scope.FieldManager = manager
	return &scope, nil
}

// lazyTypes are the types of a resource. The first use builds them, see resource.complete.
type lazyTypes struct{ resource *resource }

var _ managedfields.TypeConverter = lazyTypes{}

// ObjectToTyped implements managedfields.TypeConverter.
func (t lazyTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if err := t.resource.complete(); err != nil {
		return nil, err
	}
	return t.resource.types.ObjectToTyped(obj, options...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t lazyTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	if err := t.resource.complete(); err != nil {
		return nil, err
	}
	return t.resource.types.TypedToObject(value)
}

// newTypes builds the types that the field managers need to merge the objects of a
// resource, from the schemas of all versions. It also sets version.owned and version.merged.
func newTypes(r *resource) (managedfields.TypeConverter, error) {
	models := maps.Clone(r.server.config.Models)
	preserveUnknown := false
	for _, v := range r.versions {
		shape := v.compiled.Structural.ToKubeOpenAPI()
		withMetadata(shape)
		gvk := v.groupVersionKind()
		shape.VendorExtensible.AddExtension("x-kubernetes-group-version-kind", []any{
			map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
		})
		models[definition.ModelName(gvk)] = shape
		preserveUnknown = preserveUnknown || !v.compiled.Pruned
	}
	for _, v := range r.versions {
		var err error
		if v.owned, err = newOwnershipType(v, models); err != nil {
			return nil, err
		}
	}
	types, err := managedfields.NewTypeConverter(models, preserveUnknown)
	if err != nil {
		return nil, fmt.Errorf("merge types of %s: %w", r.kind, err)
	}
	for _, v := range r.versions {
		gvk := v.groupVersionKind()
		empty, err := types.ObjectToTyped(newObject(gvk))
		if err != nil {
			return nil, fmt.Errorf("merge type of %s: %w", gvk, err)
		}
		v.merged = mergeType{empty.Schema(), empty.TypeRef()}
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
