package definition

import (
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"

	"holdfast.dev/holdfast/schema"
)

// typing converts schemas to upstream's Go type, which has no fields for our
// extensions.
type typing struct {
	// omitDocs omits descriptions, titles, examples and external documentation.
	omitDocs bool
	// omitRules omits CEL rules.
	omitRules bool
}

// of converts s. The result shares defaults, enums and examples with s.
func (t typing) of(s *schema.Schema) *apiextensions.JSONSchemaProps {
	if s == nil {
		return nil
	}
	out := &apiextensions.JSONSchemaProps{
		ID:                     s.ID,
		Schema:                 apiextensions.JSONSchemaURL(s.SchemaURL),
		Ref:                    s.Ref,
		Type:                   s.Type,
		Nullable:               s.Nullable,
		Format:                 s.Format,
		Default:                jsonOf(s.Default),
		Maximum:                number(s.Maximum),
		ExclusiveMaximum:       s.ExclusiveMaximum,
		Minimum:                number(s.Minimum),
		ExclusiveMinimum:       s.ExclusiveMinimum,
		MaxLength:              s.MaxLength,
		MinLength:              s.MinLength,
		Pattern:                s.Pattern,
		MaxItems:               s.MaxItems,
		MinItems:               s.MinItems,
		UniqueItems:            s.UniqueItems,
		MultipleOf:             number(s.MultipleOf),
		MaxProperties:          s.MaxProperties,
		MinProperties:          s.MinProperties,
		Required:               s.Required,
		AllOf:                  t.list(s.AllOf),
		AnyOf:                  t.list(s.AnyOf),
		OneOf:                  t.list(s.OneOf),
		Not:                    t.of(s.Not),
		Properties:             t.named(s.Properties),
		PatternProperties:      t.named(s.PatternProperties),
		Definitions:            t.named(s.Definitions),
		AdditionalProperties:   t.orBool(s.AdditionalProperties),
		AdditionalItems:        t.orBool(s.AdditionalItems),
		XPreserveUnknownFields: s.PreserveUnknownFields,
		XEmbeddedResource:      s.EmbeddedResource,
		XIntOrString:           s.IntOrString,
		XListMapKeys:           s.ListMapKeys,
		XListType:              nonEmpty(s.ListType),
		XMapType:               nonEmpty(s.MapType),
	}
	if !t.omitRules {
		out.XValidations = rules(s.Validations)
	}
	if s.Items != nil || s.Tuple != nil {
		out.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: t.of(s.Items), JSONSchemas: t.list(s.Tuple)}
	}
	for _, allowed := range s.Enum {
		out.Enum = append(out.Enum, allowed)
	}
	for name, d := range s.Dependencies {
		if out.Dependencies == nil {
			out.Dependencies = make(apiextensions.JSONSchemaDependencies, len(s.Dependencies))
		}
		out.Dependencies[name] = apiextensions.JSONSchemaPropsOrStringArray{Schema: t.of(d.Schema), Property: d.Property}
	}
	if !t.omitDocs {
		out.Description, out.Title, out.Example = s.Description, s.Title, jsonOf(s.Example)
		if s.ExternalDocs != nil {
			out.ExternalDocs = &apiextensions.ExternalDocumentation{Description: s.ExternalDocs.Description, URL: s.ExternalDocs.URL}
		}
	}
	return out
}

func (t typing) list(in []*schema.Schema) []apiextensions.JSONSchemaProps {
	if in == nil {
		return nil
	}
	out := make([]apiextensions.JSONSchemaProps, 0, len(in))
	for _, s := range in {
		out = append(out, *t.of(s))
	}
	return out
}

func (t typing) named(in map[string]*schema.Schema) map[string]apiextensions.JSONSchemaProps {
	if in == nil {
		return nil
	}
	out := make(map[string]apiextensions.JSONSchemaProps, len(in))
	for name, s := range in {
		out[name] = *t.of(s)
	}
	return out
}

func (t typing) orBool(in *schema.SchemaOrBool) *apiextensions.JSONSchemaPropsOrBool {
	if in == nil {
		return nil
	}
	return &apiextensions.JSONSchemaPropsOrBool{Allows: in.Allows, Schema: t.of(in.Schema)}
}

func rules(in []*schema.ValidationRule) apiextensions.ValidationRules {
	var out apiextensions.ValidationRules
	for _, r := range in {
		out = append(out, apiextensions.ValidationRule{
			Rule:              r.Rule,
			Message:           r.Message,
			MessageExpression: r.MessageExpression,
			Reason:            (*apiextensions.FieldValueErrorReason)(r.Reason),
			FieldPath:         r.FieldPath,
			OptionalOldSelf:   r.OptionalOldSelf,
		})
	}
	return out
}

func jsonOf(v any) *apiextensions.JSON {
	if v == nil {
		return nil
	}
	out := apiextensions.JSON(v)
	return &out
}

// number returns nil if n is absent, or too large for a float64.
func number(n json.Number) *float64 {
	if n == "" {
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil
	}
	return &f
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
