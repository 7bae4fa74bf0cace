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

// Published is what one version of a definition tells clients about the objects
// of its kind. It is made by Publish.
type Published struct {
	kind       runtimeschema.GroupVersionKind
	selectable []apiextensionsv1.SelectableField
	// schema is nil where the version has none.
	schema *schema.Schema
	// open says that objects may have fields that the schema does not specify.
	open bool
}

// Publish reads a version of a definition. The error names a version that the
// definition does not have, or whose schema cannot be read; no served version of
// a definition that passed Validate is such a one.
func Publish(crd *CustomResourceDefinition, version string) (Published, error) {
	v := crd.Spec.Version(version)
	if v == nil {
		return Published{}, fmt.Errorf("%s has no version %s", crd.Name, version)
	}
	s, _, err := v.DecodeSchema()
	if err != nil {
		return Published{}, fmt.Errorf("version %s of %s: %w", version, crd.Name, err)
	}
	p := Published{
		kind:       runtimeschema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind},
		selectable: v.SelectableFields,
	}
	if s != nil {
		p.open = !crd.Spec.Pruned(version) || schema.IsTrue(s.PreserveUnknownFields) || schema.IsTrue(s.NoPrune)
		p.schema = standInBuilder{published: true}.build(s, skeleton.Build(s))
	}
	return p, nil
}

// OpenAPIV2 is the schema of the kind as /openapi/v2 publishes it: every place
// of the skeleton, with our extensions and with descriptions that begin with
// what may not change. Version 2 knows no logic, and kubectl no fields beside
// unknown ones, so what lies below a nullable place or one that preserves
// unknown fields is left out, as upstream leaves it out. It is made anew on each
// call and belongs to the caller.
func (p Published) OpenAPIV2() *spec.Schema {
	return p.render(renderer{v2: true, objectMeta: objectMetaV2})
}

// OpenAPIV3 is the schema of the kind as /openapi/v3 publishes it, see
// OpenAPIV2. Logic stays in it; patternProperties and items by position, which
// OpenAPI does not know, are choices of what is given. It is made anew on each
// call and belongs to the caller.
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

// body is what the definition says about objects, and what all objects have.
func (p Published) body(r renderer) *spec.Schema {
	if p.schema == nil || r.v2 && p.open {
		// Properties here would have kubectl refuse all others.
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	}
	out := r.render(p.schema)
	docs := metav1.TypeMeta{}.SwaggerDoc()
	r.addResourceFields(out, docs["apiVersion"], docs["kind"])
	return out
}

// addResourceFields adds what Kubernetes knows about every object.
func (r renderer) addResourceFields(out *spec.Schema, apiVersion, kind string) {
	out.SetProperty("apiVersion", *spec.StringProperty().WithDescription(apiVersion))
	out.SetProperty("kind", *spec.StringProperty().WithDescription(kind))
	out.SetProperty("metadata", *spec.RefSchema(r.objectMeta).WithDescription(metav1beta1.PartialObjectMetadata{}.SwaggerDoc()["metadata"]))
}

// addEmbeddedFields adds the same to an object inside of another.
func (r renderer) addEmbeddedFields(out *spec.Schema) {
	r.addResourceFields(out,
		"apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
		"kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds")
	for _, name := range []string{"kind", "apiVersion"} {
		if !slices.Contains(out.Required, name) {
			out.Required = append(slices.Clone(out.Required), name)
		}
	}
}
