package ownership

import "strings"

// indexFrom is how long a list is when looking for items one by one costs more
// than an index.
const indexFrom = 12

// items finds the items of a keyed list. Where several have the same keys, as the
// ports of a Service for TCP and UDP have for client-side apply, the first of one
// list goes with the first of the other, and so on.
type items struct {
	list  []any
	keys  []string
	index map[string][]map[string]any
}

func newItems(v any, keys []string) items {
	list, _ := v.([]any)
	i := items{list: list, keys: keys}
	if len(list) >= indexFrom {
		i.index = make(map[string][]map[string]any, len(list))
		for _, item := range list {
			if object, ok := item.(map[string]any); ok {
				key := keyOf(object, keys)
				i.index[key] = append(i.index[key], object)
			}
		}
	}
	return i
}

// find is the item with the same keys as another, after earlier ones like it, or
// none.
func (i items) find(like map[string]any, earlier int) any {
	if i.index != nil {
		if found := i.index[keyOf(like, i.keys)]; earlier < len(found) {
			return found[earlier]
		}
		return none
	}
	for _, item := range i.list {
		object, ok := item.(map[string]any)
		if !ok || !sameKeys(i.keys, object, like) {
			continue
		}
		if earlier == 0 {
			return object
		}
		earlier--
	}
	return none
}

// each calls f for every item that is an object, with the number of earlier ones
// that have the same keys.
func (i items) each(f func(item map[string]any, earlier int)) {
	var seen map[string]int
	if i.index != nil {
		seen = make(map[string]int, len(i.list))
	}
	for at, item := range i.list {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		earlier := 0
		if seen != nil {
			key := keyOf(object, i.keys)
			earlier = seen[key]
			seen[key]++
		} else {
			for _, before := range i.list[:at] {
				if before, ok := before.(map[string]any); ok && sameKeys(i.keys, before, object) {
					earlier++
				}
			}
		}
		f(object, earlier)
	}
}

func sameKeys(keys []string, a, b map[string]any) bool {
	for _, key := range keys {
		if !equal(field(a, key), field(b, key)) {
			return false
		}
	}
	return true
}

func keyOf(item map[string]any, keys []string) string {
	if len(keys) == 1 {
		if text, ok := item[keys[0]].(string); ok {
			return text
		}
	}
	var b strings.Builder
	for _, key := range keys {
		switch v := item[key].(type) {
		case string:
			b.WriteString(v)
		default:
			w := briefWriter{}
			w.value(v)
			b.WriteString(w.b.String())
		}
		b.WriteByte(0)
	}
	return b.String()
}

// membership finds scalars in a list of distinct ones.
type membership map[any]struct{}

func newMembership(v any) membership {
	list, _ := v.([]any)
	m := make(membership, len(list))
	for _, item := range list {
		switch item.(type) {
		case string, int64, float64, bool:
			m[item] = struct{}{}
		}
	}
	return m
}

// find is the scalar itself, or none.
func (m membership) find(member any) any {
	switch member.(type) {
	case string, int64, float64, bool:
		if _, ok := m[member]; ok {
			return member
		}
	}
	return none
}
