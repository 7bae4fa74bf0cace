package ownership

import "slices"

// contains reports whether v has every value of part. It does not require equal
// values, because the server may have added defaults inside of a value that apply
// treats as one field.
func contains(v, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		v, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for k, p := range part {
			if p != nil && !contains(field(v, k), p) {
				return false
			}
		}
		return true
	case []any:
		v, ok := v.([]any)
		return ok && slices.EqualFunc(v, part, contains)
	}
	return equal(v, part)
}

// contains reports whether v has every value of part in a view. v may have more keys
// in maps, and more items in lists that apply merges.
func (n *node) contains(v, part any) bool {
	switch n.shape {
	case record, mapping:
		object, ok := part.(map[string]any)
		in, okIn := v.(map[string]any)
		if ok && okIn {
			for name, p := range object {
				if p != nil && !n.child(name).contains(field(in, name), p) {
					return false
				}
			}
			return true
		}
	case keyed:
		if areLists(v, part) {
			there, all := newItems(v, n.keys), true
			newItems(part, n.keys).each(func(item map[string]any, earlier int) {
				all = all && n.elem.contains(there.find(item, earlier), item)
			})
			return all
		}
	case set:
		if areLists(v, part) {
			there, list := newMembership(v), part.([]any)
			return !slices.ContainsFunc(list, func(member any) bool { return member != nil && isAbsent(there.find(member)) })
		}
	}
	return contains(v, part)
}
