package immutability_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// refuses is a simple and slow implementation of Check. Tests compare the policy
// with it.
func refuses(s *schema.Schema, oldObj, newObj map[string]any) bool {
	for name, child := range s.Properties {
		switch name {
		case "apiVersion", "kind", "metadata":
		default:
			if refusesValue(child, at(oldObj, name), at(newObj, name)) {
				return true
			}
		}
	}
	values := *s
	values.Properties = nil
	withoutType := func(m map[string]any) map[string]any {
		rest := map[string]any{}
		for key, v := range m {
			_, isProperty := s.Properties[key]
			if key != "apiVersion" && key != "kind" && key != "metadata" && !isProperty {
				rest[key] = v
			}
		}
		return rest
	}
	return refusesContents(&values, withoutType(oldObj), withoutType(newObj)) ||
		!same(nil, at(oldObj, "apiVersion"), at(newObj, "apiVersion")) ||
		!same(nil, at(oldObj, "kind"), at(newObj, "kind"))
}

// nothing is the value of an absent key.
type nothing struct{}

func at(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return nothing{}
}

func refusesValue(s *schema.Schema, oldValue, newValue any) bool {
	if s == nil {
		return false
	}
	marker := immutability.MarkerOf(s)
	if marker == immutability.Immutable {
		return !same(s, oldValue, newValue)
	}
	// The table of constraints: unset to set, set to unset, another value.
	was, is := isSet(s, oldValue), isSet(s, newValue)
	switch {
	case !was && is && marker&immutability.NoSet != 0, was && !is && marker&immutability.NoUnset != 0:
		return true
	case was && is && marker&immutability.NoModify != 0:
		return !same(s, oldValue, newValue)
	}
	removed, added := oneSided(s, oldValue, newValue)
	if removed && marker&immutability.NoRemoveItem != 0 || added && marker&immutability.NoAddItem != 0 {
		return true
	}
	if marker&immutability.NoModify != 0 {
		return false
	}
	return refusesContents(s, oldValue, newValue)
}

// isSet reports whether a value counts as set for all markers but Immutable.
func isSet(s *schema.Schema, v any) bool {
	switch v := v.(type) {
	case nil, nothing:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0 || !s.IsMap()
	}
	return true
}

func isTypedList(s *schema.Schema) bool {
	return s.ListType == "set" || s.ListType == "map" && len(s.ListMapKeys) > 0
}

// oneSided reports whether there are keys only in old, and keys only in new.
func oneSided(s *schema.Schema, oldValue, newValue any) (removed, added bool) {
	oldMap, _ := oldValue.(map[string]any)
	newMap, _ := newValue.(map[string]any)
	if s.IsMap() {
		for key := range oldMap {
			_, stays := newMap[key]
			removed = removed || !stays
		}
		for key := range newMap {
			_, known := oldMap[key]
			added = added || !known
		}
	}
	oldList, _ := oldValue.([]any)
	newList, _ := newValue.([]any)
	if isTypedList(s) {
		pairs := pairUp(s, oldList, newList)
		removed = removed || len(pairs) < len(oldList)
		added = added || len(pairs) < len(newList)
	}
	return removed, added
}

// pairUp matches the items of a list of type map or set.
func pairUp(s *schema.Schema, oldList, newList []any) (pairs [][2]int) {
	taken := map[int]bool{}
	for i, x := range oldList {
		for j, y := range newList {
			if !taken[j] && sameItem(s, x, y) {
				taken[j] = true
				pairs = append(pairs, [2]int{i, j})
				break
			}
		}
	}
	return pairs
}

func sameItem(s *schema.Schema, x, y any) bool {
	if s.ListType == "set" {
		return same(s.Items, x, y)
	}
	a, _ := x.(map[string]any)
	b, _ := y.(map[string]any)
	return !slices.ContainsFunc(s.ListMapKeys, func(key string) bool { return !same(nil, at(a, key), at(b, key)) })
}

func refusesContents(s *schema.Schema, oldValue, newValue any) bool {
	switch oldValue := oldValue.(type) {
	case map[string]any:
		newValue, ok := newValue.(map[string]any)
		return ok && refusesObject(s, oldValue, newValue)
	case []any:
		newValue, ok := newValue.([]any)
		if !ok || s.ListType == "set" {
			return false
		}
		var pairs [][2]int
		if isTypedList(s) {
			pairs = pairUp(s, oldValue, newValue)
		} else {
			for i := range min(len(oldValue), len(newValue)) {
				pairs = append(pairs, [2]int{i, i})
			}
		}
		return slices.ContainsFunc(pairs, func(p [2]int) bool {
			return refusesValue(itemSchema(s, p[0]), oldValue[p[0]], newValue[p[1]])
		})
	}
	return false
}

func refusesObject(s *schema.Schema, oldMap, newMap map[string]any) bool {
	for name, child := range s.Properties {
		if refusesValue(child, at(oldMap, name), at(newMap, name)) {
			return true
		}
	}
	for key, oldValue := range oldMap {
		newValue, stays := newMap[key]
		if !stays {
			continue
		}
		values, _ := keySchemas(s, key)
		if _, isProperty := s.Properties[key]; isProperty {
			values = values[:len(values)-1]
		}
		for _, child := range values {
			if refusesValue(child, oldValue, newValue) {
				return true
			}
		}
	}
	return false
}

// keySchemas returns the schemas that apply to a key, that of a property last.
func keySchemas(s *schema.Schema, key string) (all []*schema.Schema, found bool) {
	if s == nil {
		return nil, false
	}
	for expression, child := range s.PatternProperties {
		if regexp.MustCompile(expression).MatchString(key) {
			all = append(all, child)
		}
	}
	if child, isProperty := s.Properties[key]; isProperty {
		all = append(all, child)
	}
	if len(all) == 0 && s.AdditionalProperties != nil {
		all = append(all, s.AdditionalProperties.Schema)
	}
	return all, len(all) > 0
}

func itemSchema(s *schema.Schema, i int) *schema.Schema {
	switch {
	case s == nil:
		return nil
	case i < len(s.Tuple):
		return s.Tuple[i]
	case len(s.Tuple) > 0 && s.AdditionalItems != nil:
		return s.AdditionalItems.Schema
	case len(s.Tuple) > 0:
		return nil
	}
	return s.Items
}

// same reports whether two values are equal; the order of sets does not count.
func same(s *schema.Schema, a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, x := range a {
			y, known := b[key]
			if !known {
				return false
			}
			schemas, found := keySchemas(s, key)
			if !found {
				schemas = []*schema.Schema{nil}
			}
			for _, child := range schemas {
				if !same(child, x, y) {
					return false
				}
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		if s != nil && s.ListType == "set" {
			return len(pairUp(s, a, b)) == len(a)
		}
		for i := range a {
			if !same(itemSchema(s, i), a[i], b[i]) {
				return false
			}
		}
		return true
	case int64, float64:
		x, y := rational(a), rational(b)
		return x != nil && y != nil && x.Cmp(y) == 0
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func rational(v any) *big.Rat {
	switch v.(type) {
	case int64, float64:
		text, _ := json.Marshal(v)
		r, _ := new(big.Rat).SetString(string(text))
		return r
	}
	return nil
}
