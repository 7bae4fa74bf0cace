package definition

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

const (
	objectMetaV2 = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	objectMetaV3 = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

	kindExtension       = "x-kubernetes-group-version-kind"
	selectableExtension = "x-kubernetes-selectable-fields"
)

// Published renders the OpenAPI schemas of one version of a definition, for
// clients. Publish makes it.
type Published struct {
	kind       runtimeschema.GroupVersionKind
	selectable []apiextensionsv1.SelectableField
	// schema is the schema in structural form, with logic. It is nil if the version
	// has no schema.
	schema *schema.Schema
	// open is true if objects may have fields that the schema does not specify.
	open bool
}

// Publish returns the Published of a version of a definition. It returns an error if
// the definition has no such version, or if the schema of the version cannot be
// decoded. In a definition that passed Validate, every schema can be decoded.
func Publish(crd *CustomResourceDefinition, version string) (Published, error) {
	v := crd.Spec.Version(version)
	if v == nil {
		return Published{}, fmt.Errorf("%s has no version %s", crd.Name, version)
	}
	marked, err := crd.marked(v)
	if err != nil {
		return Published{}, fmt.Errorf("version %s of %s: %w", version, crd.Name, err)
	}
	s := marked.Schema
	p := Published{
		kind:       runtimeschema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind},
		selectable: v.SelectableFields,
	}
	if s != nil {
		describeLayers(marked, crd.noDelete(version))
		p.open = !crd.Spec.Pruned(version) || schema.IsTrue(s.PreserveUnknownFields) || schema.IsTrue(s.NoPrune)
		p.schema = structuralBuilder{published: true}.build(s, skeleton.Build(s).Binding())
	}
	return p, nil
}

// OpenAPIV2 returns the schema of the kind for /openapi/v2. It has every field
// of the skeleton, with our extensions, and the description of a field with a
// marker begins with a text such as "Immutable. ".
//
// As upstream does, it omits what OpenAPI v2 or kubectl cannot read: logic, and
// everything below a field that is nullable or preserves unknown fields. It omits
// defaults, as the document of the built-in kinds does. Each call makes a new schema,
// which belongs to the caller.
func (p Published) OpenAPIV2() *spec.Schema {
	return p.render(renderer{v2: true, objectMeta: objectMetaV2})
}

// OpenAPIV3 returns the schema of the kind for /openapi/v3, see OpenAPIV2. It
// includes logic. OpenAPI has no patternProperties and no items by position;
// they become anyOf with the given schemas. Each call makes a new schema, which
// belongs to the caller.
func (p Published) OpenAPIV3() *spec.Schema { return p.render(renderer{objectMeta: objectMetaV3}) }

func (p Published) render(r renderer) *spec.Schema {
	out := p.body(r)
	out.AddExtension(kindExtension, []any{
		map[string]any{"group": p.kind.Group, "version": p.kind.Version, "kind": p.kind.Kind},
	})
	if len(p.selectable) > 0 {
		var selectable []any
		for _, f := range p.selectable {
			selectable = append(selectable, map[string]any{"fieldPath": strings.TrimPrefix(f.JSONPath, ".")})
		}
		out.AddExtension(selectableExtension, selectable)
	}
	return out
}

// body returns the schema of the definition with the fields of every Kubernetes
// object.
func (p Published) body(r renderer) *spec.Schema {
	if p.schema == nil || r.v2 && p.open {
		// If the schema listed properties, kubectl would refuse all other fields.
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	}
	out := r.render(p.schema)
	docs := metav1.TypeMeta{}.SwaggerDoc()
	r.addResourceFields(out, docs["apiVersion"], docs["kind"])
	return out
}

// addResourceFields adds apiVersion, kind and metadata.
func (r renderer) addResourceFields(out *spec.Schema, apiVersion, kind string) {
	out.SetProperty("apiVersion", *spec.StringProperty().WithDescription(apiVersion))
	out.SetProperty("kind", *spec.StringProperty().WithDescription(kind))
	metadata := spec.RefSchema(r.objectMeta)
	if !r.v2 {
		// In OpenAPI v3, readers ignore what stands beside a $ref.
		metadata = &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{*metadata}}}
	}
	out.SetProperty("metadata", *metadata.WithDescription(metav1beta1.PartialObjectMetadata{}.SwaggerDoc()["metadata"]))
}

// addEmbeddedFields adds apiVersion, kind and metadata to an embedded object.
func (r renderer) addEmbeddedFields(out *spec.Schema) {
	const conventions = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
	r.addResourceFields(out,
		"apiVersion defines the versioned schema of this representation of an object. "+conventions+"#resources",
		"kind is a string value representing the type of this object. In CamelCase. "+conventions+"#types-kinds")
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(out.Required, name) {
			out.Required = append(slices.Clone(out.Required), name)
		}
	}
}

// ModelName returns the name of a kind in OpenAPI documents, such as com.example.v1.Boat.
func ModelName(kind runtimeschema.GroupVersionKind) string {
	parts := strings.Split(kind.Group, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + kind.Version + "." + kind.Kind
}
