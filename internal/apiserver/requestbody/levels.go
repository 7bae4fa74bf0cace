package requestbody

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/nesting"
)

// schemaLevels are the levels of a definition around a schema: the definition, its spec, the
// list of versions, a version, and the object with the schema.
const schemaLevels = 5

// Levels returns how deep an object is nested. It counts only the parts that can have any depth:
// all of a custom resource, the schemas of a definition, the data of a ControllerRevision, and
// managed fields. The Go type limits the depth of all other parts.
func Levels(obj runtime.Object) int {
	most := 0
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return nesting.ObjectLevels(obj.Object)
	case *definition.CustomResourceDefinition:
		for _, version := range obj.Spec.Versions {
			if version.Schema != nil {
				most = max(most, schemaLevels+nesting.TextLevels(version.Schema.OpenAPIV3Schema))
			}
		}
	case *appsv1.ControllerRevision:
		most = 1 + nesting.TextLevels(obj.Data.Raw)
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return most
	}
	for _, entry := range accessor.GetManagedFields() {
		if entry.FieldsV1 != nil {
			most = max(most, nesting.FieldLevels(entry.FieldsV1.GetRawBytes()))
		}
	}
	return most
}
