package custom

import "sigs.k8s.io/structured-merge-diff/v6/schema"

// maxCompared is the length of the longest list for which areItems compares each item with all others.
const maxCompared = 32

// are reports whether value would return this set.
func (c createdSet) are(ref schema.TypeRef, v any, fields map[string]any, itself membership) bool {
	atom, ok := c.schema.Resolve(ref)
	if !ok || !c.fits(atom, ref, v) {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && atom.Map.ElementRelationship != schema.Atomic {
			return c.areFields(atom.Map, v, fields, itself)
		}
	case []any:
		if len(v) > 0 && atom.List.ElementRelationship != schema.Atomic {
			return c.areItems(atom.List, v, fields)
		}
	}
	return len(fields) == 0
}

// areFields reports whether fields would return this set.
func (c createdSet) areFields(t *schema.Map, obj, fields map[string]any, itself membership) bool {
	if _, ok := fields["."]; ok != (itself == named) || len(fields) != len(obj)+int(itself) {
		return false
	}
	for key, v := range obj {
		below, ok := fields[fieldPrefix+key].(map[string]any)
		if !ok || !c.are(fieldType(t, key), v, below, c.membershipOf(key, itself)) {
			return false
		}
	}
	return true
}

// areItems reports whether items would return this set. For a long list it may return false although it would.
func (c createdSet) areItems(t *schema.List, list []any, fields map[string]any) bool {
	if _, ok := fields["."]; !ok || len(fields) != len(list)+1 || len(list) > maxCompared || t.ElementRelationship != schema.Associative {
		return false
	}
	name := make([]byte, 0, 64)
	for i, item := range list {
		var ok bool
		if name, ok = appendItemName(name[:0], t.Keys, item); !ok {
			return false
		}
		below, ok := fields[string(name)].(map[string]any)
		if !ok || !c.are(t.ElementType, item, below, named) {
			return false
		}
		for _, other := range list[:i] {
			if isSameItem(t.Keys, other, item) {
				return false
			}
		}
	}
	return true
}
