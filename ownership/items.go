package ownership

import (
	"slices"

	"holdfast.dev/holdfast/value"
)

// indexFrom is the length of a list from which an index is faster than looking
// at the items one by one.
const indexFrom = 12

// items finds the items of a list by their keys. Several items may have the same
// keys, as the ports of a Service for TCP and UDP have for client-side apply: then
// the first of one list belongs to the first of the other, and so on.
type items struct {
	list []any
	// complete is the list in which each item has all keys.
	complete []any
	keys     keys
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

func newItems(v any, k keys) items {
	list, _ := v.([]any)
	i := items{list: list, complete: k.completeAll(list), keys: k}
	if len(list) >= indexFrom {
		i.index = newItemIndex(i.complete, k.names)
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
	like = i.keys.complete(like)
	if x := i.index; x != nil {
		group := x.find(x.comparison.HashKeys(i.keys.names, like), i.keys.names, like)
		if group != nil && earlier < len(group.at) {
			return group.at[earlier]
		}
		return -1
	}
	for at, item := range i.complete {
		object, ok := item.(map[string]any)
		if !ok || !value.Applied.EqualKeys(i.keys.names, object, like) {
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
			f(object, i.earlier(at))
		}
	}
}

// earlier returns the number of items before the one at an index that have the
// same keys.
func (i items) earlier(at int) int {
	if i.index != nil {
		return i.index.earlier[at]
	}
	count := 0
	for _, before := range i.complete[:at] {
		if _, ok := before.(map[string]any); ok && value.Applied.EqualKeys(i.keys.names, before, i.complete[at]) {
			count++
		}
	}
	return count
}

// repeats reports whether several items have the same keys as another.
func (i items) repeats(like map[string]any) bool { return i.at(like, 1) >= 0 }

// group returns all items with the same keys as another.
func (i items) group(like map[string]any) []any {
	var found []any
	for next := i.find(like, 0); !isAbsent(next); next = i.find(like, len(found)) {
		found = append(found, next)
	}
	return found
}

// all returns the item with the same keys as another, or the list of all such items if there
// are several; value.Absent if there is none.
func (i items) all(like map[string]any) any { return oneOrAll(i.group(like)) }

// oneOrAll returns the item of a list with one item, and otherwise the list; value.Absent for
// the empty list.
func oneOrAll(list []any) any {
	switch len(list) {
	case 0:
		return value.Absent{}
	case 1:
		return list[0]
	}
	return list
}

// membership finds scalars in a list of scalars. It has the number of times that each scalar
// occurs, because a list can have duplicates although its type forbids them.
type membership map[any]int

func newMembership(v any) membership {
	list, _ := v.([]any)
	m := make(membership, len(list))
	for _, item := range list {
		if key, ok := value.MapKey(item); ok {
			m[key]++
		}
	}
	return m
}

// find returns the scalar itself, value.Absent if the list does not have it.
func (m membership) find(member any) any {
	if key, ok := value.MapKey(member); ok {
		if m[key] > 0 {
			return member
		}
	}
	return value.Absent{}
}

// all returns the scalar itself. If the scalar occurs several times, all returns a list with all
// of them; if it does not occur, value.Absent.
func (m membership) all(member any) any {
	if key, ok := value.MapKey(member); ok && m[key] > 1 {
		return slices.Repeat([]any{member}, m[key])
	}
	return m.find(member)
}
