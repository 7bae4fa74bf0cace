package schema

import (
	"encoding/json"
	"strconv"
)

// Encode is s as a value that JSON encoding takes: what Decode read, without
// unknown keys and nulls. Two calls give equal values, and as JSON encoding
// sorts the keys of a map, equal bytes. Nil encodes as nil.
func Encode(s *Schema) map[string]any {
	if s == nil {
		return nil
	}
	return schemaKeywords.encode(s)
}

// MarshalJSON is the JSON of [Encode].
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

// encodeField is the value of the field at target; present is false for the
// zero value.
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

// encodeNumber gives back an int64 where the text is one, else a float64.
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

// encodeSchema has no typed nil: a nil schema in a holder made by hand is {}.
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
