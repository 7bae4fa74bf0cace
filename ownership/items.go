package ownership

import "holdfast.dev/holdfast/value"

// indexFrom is the length of a list from which an index is faster than looking
// at the items one by one.
const indexFrom = 12

// items finds the items of a list by their keys. Several items may have the same
// keys, as the ports of a Service for TCP and UDP have for client-side apply: then
// the first of one list belongs to the first of the other, and so on.
type items struct {
	list []any
	keys []string
	// index is nil for a short list.
	index *itemIndex
}

// itemIndex finds items by the hash of their keys.
type itemIndex struct {
	comparison value.Comparison
	groups     map[uint64][]*itemGroup
	// earlier has, for each item of the list, the number of earlier items with
	// the same keys.
	earlier []int
}

// itemGroup is the items of a list with the same keys: the first of them, and the
// indexes of all.
type itemGroup struct {
	first map[string]any
	at    []int
}

func newItems(v any, keys []string) items {
	list, _ := v.([]any)
	i := items{list: list, keys: keys}
	if len(list) >= indexFrom {
		i.index = newItemIndex(list, keys)
	}
	return i
}

func newItemIndex(list []any, keys []string) *itemIndex {
	x := &itemIndex{
		comparison: value.NewComparison(value.Applied),
		groups:     make(map[uint64][]*itemGroup, len(list)),
		earlier:    make([]int, len(list)),
	}
	for at, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		hash := x.comparison.HashKeys(keys, object)
		group := x.find(hash, keys, object)
		if group == nil {
			group = &itemGroup{first: object}
			x.groups[hash] = append(x.groups[hash], group)
		}
		x.earlier[at] = len(group.at)
		group.at = append(group.at, at)
	}
	return x
}

// find returns the group of the items with the same keys as an item, nil if there
// is none.
func (x *itemIndex) find(hash uint64, keys []string, like map[string]any) *itemGroup {
	for _, group := range x.groups[hash] {
		if value.Applied.EqualKeys(keys, group.first, like) {
			return group
		}
	}
	return nil
}

// find returns the item with the same keys as another, after a number of earlier
// items with these keys; value.Absent if there is none.
func (i items) find(like map[string]any, earlier int) any {
	if at := i.at(like, earlier); at >= 0 {
		return i.list[at]
	}
	return value.Absent{}
}

// at is find for the index of the item; -1 means that there is none.
func (i items) at(like map[string]any, earlier int) int {
	if x := i.index; x != nil {
		group := x.find(x.comparison.HashKeys(i.keys, like), i.keys, like)
		if group != nil && earlier < len(group.at) {
			return group.at[earlier]
		}
		return -1
	}
	for at, item := range i.list {
		object, ok := item.(map[string]any)
		if !ok || !value.Applied.EqualKeys(i.keys, object, like) {
			continue
		}
		if earlier == 0 {
			return at
		}
		earlier--
	}
	return -1
}

// each calls f for every item that is an object, with the number of earlier items
// that have the same keys.
func (i items) each(f func(item map[string]any, earlier int)) {
	for at, item := range i.list {
		if object, ok := item.(map[string]any); ok {
			f(object, i.earlier(at, object))
		}
	}
}

// earlier returns the number of items before the one at an index that have the
// same keys.
func (i items) earlier(at int, object map[string]any) int {
	if i.index != nil {
		return i.index.earlier[at]
	}
	count := 0
	for _, before := range i.list[:at] {
		if before, ok := before.(map[string]any); ok && value.Applied.EqualKeys(i.keys, before, object) {
			count++
		}
	}
	return count
}

// membership finds scalars in a list of distinct scalars.
type membership map[any]struct{}

func newMembership(v any) membership {
	list, _ := v.([]any)
	m := make(membership, len(list))
	for _, item := range list {
		if key, ok := value.MapKey(item); ok {
			m[key] = struct{}{}
		}
	}
	return m
}

// find returns the scalar itself, value.Absent if the list does not have it.
func (m membership) find(member any) any {
	if key, ok := value.MapKey(member); ok {
		if _, found := m[key]; found {
			return member
		}
	}
	return value.Absent{}
}
