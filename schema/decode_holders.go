package schema

import (
	"holdfast.dev/holdfast/value"
)

// holder decodes a keyword with schemas or objects in its value.
func (d *decoder) holder(path *value.Path, v, target any) {
	switch t := target.(type) {
	case **Schema:
		*t = d.schema(path, v)
	case *[]*Schema:
		*t = d.list(path, v)
	case *map[string]*Schema:
		*t = entries(d, path, v, d.schema)
	case **SchemaOrBool:
		*t = d.schemaOrBool(path, v)
	case *map[string]*Dependency:
		*t = entries(d, path, v, d.dependency)
	case **ExternalDocs:
		if m := take[map[string]any](d, path, v, "an object"); m != nil {
			*t = externalDocsKeywords.decode(d, path, m)
		}
	case *[]*ValidationRule:
		*t = d.rules(path, v)
	}
}

func (d *decoder) list(path *value.Path, v any) []*Schema {
	list := take[[]any](d, path, v, "a list of schemas")
	if list == nil {
		return nil
	}
	out := make([]*Schema, len(list))
	for i, item := range list {
		out[i] = d.schema(path.Index(i), item)
	}
	return out
}

// entries decodes an object; one decodes each of its values.
func entries[T any](d *decoder, path *value.Path, v any, one func(*value.Path, any) *T) map[string]*T {
	m := take[map[string]any](d, path, v, "an object")
	if m == nil {
		return nil
	}
	out := make(map[string]*T, len(m))
	for _, name := range sortedNames(m) {
		if d.full() {
			return nil
		}
		out[name] = one(path.Key(name), m[name])
	}
	return out
}

func (d *decoder) schemaOrBool(path *value.Path, v any) *SchemaOrBool {
	switch v := v.(type) {
	case bool:
		return &SchemaOrBool{Allows: v}
	case map[string]any:
		return &SchemaOrBool{Schema: d.schema(path, v), Allows: true}
	}
	d.fail(path, "must be a schema or a boolean, not %s", kindOf(v))
	return nil
}

func (d *decoder) dependency(path *value.Path, v any) *Dependency {
	switch v := v.(type) {
	case []any:
		return &Dependency{Property: d.names(path, v)}
	case map[string]any:
		return &Dependency{Schema: d.schema(path, v)}
	}
	d.fail(path, "must be a schema or a list of strings, not %s", kindOf(v))
	return nil
}

func (d *decoder) rules(path *value.Path, v any) []*ValidationRule {
	list := take[[]any](d, path, v, "a list of rules")
	if list == nil {
		return nil
	}
	out := make([]*ValidationRule, len(list))
	for i, item := range list {
		m := take[map[string]any](d, path.Index(i), item, "a rule (an object)")
		out[i] = validationRuleKeywords.decode(d, path.Index(i), m)
	}
	return out
}
