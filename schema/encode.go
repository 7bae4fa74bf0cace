package schema

import (
	"encoding/json"
	"strconv"
)

// Encode returns s as a value for JSON encoding: the value that Decode read, without
// unknown keys and nulls. JSON encoding sorts the keys of maps, so equal schemas give
// equal bytes. Encode returns nil for a nil schema.
func Encode(s *Schema) map[string]any {
	if s == nil {
		return nil
	}
	return schemaKeywords.encode(s)
}

// MarshalJSON returns the JSON of [Encode].
func (s *Schema) MarshalJSON() ([]byte, error) { return json.Marshal(Encode(s)) }

func (o object[T]) encode(from *T) map[string]any {
	out := map[string]any{}
	for key, k := range o.keywords {
		value, present := encodeField(k.at(from))
		if present || *o.blank(from)&k.blank != 0 {
			out[key] = value
		}
	}
	return out
}

// encodeField returns the value of the field at target. present is false for the zero
// value.
func encodeField(target any) (value any, present bool) {
	switch t := target.(type) {
	case *string:
		return *t, *t != ""
	case *bool:
		return *t, *t
	case **string:
		return deref(*t)
	case **bool:
		return deref(*t)
	case **int64:
		return deref(*t)
	case *json.Number:
		return encodeNumber(*t), *t != ""
	case *any:
		return *t, *t != nil
	case *[]any:
		return *t, *t != nil
	case *[]string:
		return encodeList(*t, func(s string) any { return s })
	case items:
		if t.of.Tuple != nil {
			return encodeList(t.of.Tuple, encodeSchema)
		}
		return encodeSchema(t.of.Items), t.of.Items != nil
	case **Schema:
		return encodeSchema(*t), *t != nil
	case *[]*Schema:
		return encodeList(*t, encodeSchema)
	case *map[string]*Schema:
		return encodeMap(*t, encodeSchema)
	case **SchemaOrBool:
		return encodeSchemaOrBool(*t), *t != nil
	case *map[string]*Dependency:
		return encodeMap(*t, encodeDependency)
	case **ExternalDocs:
		if *t == nil {
			return nil, false
		}
		return externalDocsKeywords.encode(*t), true
	case *[]*ValidationRule:
		return encodeList(*t, encodeRule)
	}
	return nil, false
}

func deref[T any](p *T) (any, bool) {
	if p == nil {
		return nil, false
	}
	return *p, true
}

// encodeNumber returns an int64 if the text is one, else a float64.
func encodeNumber(n json.Number) any {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil {
		return f
	}
	return nil
}

func encodeList[T any](list []T, one func(T) any) (any, bool) {
	if list == nil {
		return nil, false
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = one(item)
	}
	return out, true
}

func encodeMap[T any](m map[string]T, one func(T) any) (any, bool) {
	if m == nil {
		return nil, false
	}
	out := make(map[string]any, len(m))
	for name, item := range m {
		out[name] = one(item)
	}
	return out, true
}

// encodeSchema returns {} for a nil schema, which only a Schema made in Go code has.
func encodeSchema(s *Schema) any {
	if s == nil {
		return map[string]any{}
	}
	return Encode(s)
}

func encodeSchemaOrBool(s *SchemaOrBool) any {
	switch {
	case s == nil:
		return nil
	case s.Schema != nil:
		return Encode(s.Schema)
	}
	return s.Allows
}

func encodeDependency(d *Dependency) any {
	if d != nil && d.Schema != nil {
		return Encode(d.Schema)
	}
	names := []any{}
	if d != nil {
		for _, name := range d.Property {
			names = append(names, name)
		}
	}
	return names
}

func encodeRule(r *ValidationRule) any {
	if r == nil {
		r = &ValidationRule{}
	}
	return validationRuleKeywords.encode(r)
}
