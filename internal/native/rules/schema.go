package rules

import (
	"reflect"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/native/openapi"
)

// schemas holds the required fields and enums of the published schema, by model name and field name. The much larger
// OpenAPI definitions do not stay in memory.
type schemas map[string]map[string]property

// property is a field in the published schema.
type property struct {
	required   bool
	enum       []string // of the field, or of the items of a list; sorted, without the empty string
	allowEmpty bool     // the enum contains the empty string
}

func publishedSchemas() schemas {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.Ref{} })
	all := make(schemas, len(definitions))
	for name, definition := range definitions {
		for field, schema := range definition.Schema.Properties {
			p := property{required: slices.Contains(definition.Schema.Required, field)}
			p.enum, p.allowEmpty = enumOf(&schema)
			if !p.required && p.enum == nil {
				continue
			}
			if all[name] == nil {
				all[name] = map[string]property{}
			}
			all[name][field] = p
		}
	}
	return all
}

func enumOf(schema *spec.Schema) (values []string, empty bool) {
	if schema.Items != nil && schema.Items.Schema != nil {
		schema = schema.Items.Schema
	}
	for _, v := range schema.Enum {
		switch s, ok := v.(string); {
		case ok && s == "":
			empty = true
		case ok:
			values = append(values, s)
		}
	}
	slices.Sort(values)
	return values, empty
}

// fieldsOf returns the fields of a Go type, or nil if the type is not published.
func (s schemas) fieldsOf(t reflect.Type) map[string]property {
	model, ok := reflect.Zero(t).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return nil
	}
	return s[model.OpenAPIModelName()]
}
