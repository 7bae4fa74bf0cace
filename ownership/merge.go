package ownership

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"

	"holdfast.dev/holdfast/value"
)

// merged returns the first item of a list with the same keys as another after the next apply,
// without defaults. kubectl sorts both lists and compares each item of the configuration with
// the live item at the same place among those with these keys. The server merges all
// differences into the first live item with these keys.
func (p *plan) merged(like map[string]any, live items) any {
	first := live.find(like, 0)
	for one, compared := range p.compared(like, live) {
		first = one.mergedInto(first, compared)
	}
	return first
}

// compared yields the items of a list with the same keys as another, each with the live item
// that kubectl compares it with. The nil plan has no items.
func (p *plan) compared(like map[string]any, live items) iter.Seq2[*plan, any] {
	return func(yield func(*plan, any) bool) {
		if p == nil || p.items == nil {
			return
		}
		sorted := live.sortedGroup(like)
		for i, at := range p.items.sortedGroup(like) {
			var compared any = value.Absent{}
			if i < len(sorted) {
				compared = live.list[sorted[i]]
			}
			if !yield(&p.below[at], compared) {
				return
			}
		}
	}
}

// sortedGroup returns the indexes of all items with the same keys as another, in the order in
// which kubectl compares them. kubectl sorts the list by its key with a comparison that is true
// for equal keys, too. It reverses equal items of a short list, and mixes those of a long one.
func (i items) sortedGroup(like map[string]any) []int {
	order := keyOrder{at: make([]int, len(i.list)), keys: make([]string, len(i.list))}
	for at, item := range i.complete {
		object, _ := item.(map[string]any)
		order.at[at], order.keys[at] = at, fmt.Sprint(object[i.keys.names[0]])
	}
	sort.Sort(order)
	like = i.keys.complete(like)
	return slices.DeleteFunc(order.at, func(at int) bool {
		object, ok := i.complete[at].(map[string]any)
		return !ok || !value.Applied.EqualKeys(i.keys.names, object, like)
	})
}

// keyOrder sorts the indexes of a list by the keys of its items, as kubectl does.
type keyOrder struct {
	at   []int
	keys []string
}

func (o keyOrder) Len() int { return len(o.at) }

func (o keyOrder) Less(i, j int) bool { return o.keys[i] <= o.keys[j] }

func (o keyOrder) Swap(i, j int) {
	o.at[i], o.at[j] = o.at[j], o.at[i]
	o.keys[i], o.keys[j] = o.keys[j], o.keys[i]
}

// mergedInto returns a value after a merge with the difference between the configuration and
// a live value.
func (p *plan) mergedInto(v, live any) any {
	if p.isLeaf {
		if !p.isNull() && equal(live, p.shown) {
			return v
		}
		return p.value
	}
	merged := p.mergedBelow(v, live)
	if isAbsent(v) && isEmpty(merged) && !p.isSent(live) {
		// Nothing differs, so the absent value stays absent.
		return v
	}
	return merged
}

// isSent reports whether the patch of kubectl has the value, because it differs from a live one.
// kubectl sends every null of the configuration: it differs from each live value, and from none.
func (p *plan) isSent(live any) bool {
	if p.isLeaf {
		return p.isNull() || !equal(live, p.shown)
	}
	if isAbsent(live) {
		return true
	}
	find := p.finder(live)
	for below := range p.fields() {
		if below.isSent(find(below)) {
			return true
		}
	}
	return false
}

// mergedBelow is mergedInto for a value with fields.
func (p *plan) mergedBelow(v, live any) any {
	find := p.finder(live)
	switch p.node.shape {
	case keyed:
		list, _ := v.([]any)
		list = slices.Clone(list)
		for below := range p.fields() {
			if at := newItems(list, p.node.keys).at(below.keyed(), 0); at >= 0 {
				list[at] = below.mergedInto(list[at], find(below))
			} else if merged := below.mergedInto(value.Absent{}, find(below)); !isAbsent(merged) {
				list = append(list, merged)
			}
		}
		return list
	case set:
		list, _ := v.([]any)
		list = slices.Clone(list)
		for below := range p.fields() {
			if isAbsent(find(below)) && isAbsent(newMembership(list).find(below.value)) {
				list = append(list, below.value)
			}
		}
		return list
	}
	object, _ := v.(map[string]any)
	if object = maps.Clone(object); object == nil {
		object = map[string]any{}
	}
	for below := range p.fields() {
		name := below.step.Name
		if merged := below.mergedInto(field(object, name), find(below)); isAbsent(merged) {
			delete(object, name)
		} else {
			object[name] = merged
		}
	}
	return object
}
