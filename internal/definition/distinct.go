package definition

import structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// keyedLists finds out quickly that the items of all lists of type map and set differ. It has only the fields of a
// schema that have such lists below them.
type keyedLists struct {
	// isSet and keys are set for a list of one of these types.
	isSet  bool
	keys   []string
	fields map[string]*keyedLists
	// other is for the fields that the schema does not name.
	other, items *keyedLists
}

// newKeyedLists returns nil if a schema has no lists of type map or set.
func newKeyedLists(s *structuralschema.Structural) *keyedLists {
	if s == nil {
		return nil
	}
	k := &keyedLists{items: newKeyedLists(s.Items)}
	if s.XListType != nil {
		k.isSet = *s.XListType == "set"
		if *s.XListType == "map" {
			k.keys = s.XListMapKeys
		}
	}
	if s.AdditionalProperties != nil {
		k.other = newKeyedLists(s.AdditionalProperties.Structural)
	}
	for name := range s.Properties {
		property := s.Properties[name]
		if child := newKeyedLists(&property); child != nil {
			if k.fields == nil {
				k.fields = map[string]*keyedLists{}
			}
			k.fields[name] = child
		}
	}
	if !k.isSet && len(k.keys) == 0 && k.items == nil && k.other == nil && k.fields == nil {
		return nil
	}
	return k
}

// areDistinct reports whether the items of all lists below a value surely differ. If it returns false, they may
// still differ.
func (k *keyedLists) areDistinct(v any) bool {
	if k == nil {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range k.fields {
			if field, ok := v[name]; ok && !child.areDistinct(field) {
				return false
			}
		}
		if k.other == nil {
			return true
		}
		for _, field := range v {
			if !k.other.areDistinct(field) {
				return false
			}
		}
	case []any:
		if k.isSet && !differ(v) || len(k.keys) > 0 && !k.keysDiffer(v) {
			return false
		}
		if k.items == nil {
			return true
		}
		for _, item := range v {
			if !k.items.areDistinct(item) {
				return false
			}
		}
	}
	return true
}

// keysDiffer reports whether no two items have the same first key. If the list has more keys, items may differ in those.
func (k *keyedLists) keysDiffer(items []any) bool {
	values := make([]any, len(items))
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return false
		}
		values[i] = fields[k.keys[0]]
	}
	return differ(values)
}

// differ reports whether all values are strings, integers or booleans, and no two are equal.
func differ(values []any) bool {
	const few = 12
	var seen map[any]bool
	if len(values) > few {
		seen = make(map[any]bool, len(values))
	}
	for i, v := range values {
		switch v.(type) {
		case string, int64, bool:
		default:
			return false
		}
		if seen != nil {
			if seen[v] {
				return false
			}
			seen[v] = true
			continue
		}
		for _, earlier := range values[:i] {
			if earlier == v {
				return false
			}
		}
	}
	return true
}
