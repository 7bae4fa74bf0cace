package definition

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/schema"
)

const (
	objectMetaV2 = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	objectMetaV3 = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

	kindExtension       = "x-kubernetes-group-version-kind"
	selectableExtension = "x-kubernetes-selectable-fields"
)

// OpenAPIV2 is the schema of the kind as /openapi/v2 publishes it: every place
// of the skeleton, with our extensions and with descriptions that begin with
// what may not change. Version 2 knows no logic, and kubectl no fields beside
// unknown ones, so what lies below a nullable place or one that preserves
// unknown fields is left out, as upstream leaves it out. It is made anew on each
// call and belongs to the caller.
func (c *Compiled) OpenAPIV2() *spec.Schema {
	return c.publish(renderer{v2: true, objectMeta: objectMetaV2})
}

// OpenAPIV3 is the schema of the kind as /openapi/v3 publishes it, see
// OpenAPIV2. Logic stays in it; patternProperties and items by position, which
// OpenAPI does not know, are choices of what is given. It is made anew on each
// call and belongs to the caller.
func (c *Compiled) OpenAPIV3() *spec.Schema { return c.publish(renderer{objectMeta: objectMetaV3}) }

func (c *Compiled) publish(r renderer) *spec.Schema {
	out := c.body(r)
	out.AddExtension(kindExtension, []any{
		map[string]any{"group": c.Kind.Group, "version": c.Kind.Version, "kind": c.Kind.Kind},
	})
	if len(c.Version.SelectableFields) > 0 {
		var selectable []any
		for _, f := range c.Version.SelectableFields {
			selectable = append(selectable, map[string]any{"fieldPath": strings.TrimPrefix(f.JSONPath, ".")})
		}
		out.AddExtension(selectableExtension, selectable)
	}
	return out
}

// body is what the definition says about objects, and what all objects have.
func (c *Compiled) body(r renderer) *spec.Schema {
	s, _, err := c.Version.DecodeSchema()
	if err != nil || s == nil {
		// Properties here would have kubectl refuse all others.
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	}
	open := !c.Pruned || schema.IsTrue(s.PreserveUnknownFields) || schema.IsTrue(s.NoPrune)
	if r.v2 && open {
		return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	}
	out := r.render(standInBuilder{published: true}.build(s, c.Skeleton))
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
