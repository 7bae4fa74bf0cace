package immutability

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// maxBelow is how many levels below a marked node single differences are
// reported. Deeper differences are reported as one change of the value at that
// level, which bounds the work for deeply nested objects.
const maxBelow = 64

// reportDifferences reports how two values differ that a rule does not let change. n is
// their node, nil if there is none.
func (w *walker) reportDifferences(n, rule *node, oldValue, newValue any) {
	d := differenceWalk{walker: w, rule: rule, floor: len(w.steps) + maxBelow}
	d.hasher = w.policy.comparison.NewHasher()
	d.compare(n, oldValue, newValue)
}

// differenceWalk compares the two values of one immutable node.
type differenceWalk struct {
	*walker
	rule   *node
	floor  int // number of steps at which the walk ends
	hasher value.Hasher
}

// compare reports the differences of two values. It reports none if equal returns
// true. If equal returns false, it reports at least one, unless the values differ only
// where a node below has its own rule and that rule allows the change.
func (d *differenceWalk) compare(n *node, oldValue, newValue any) {
	if n != nil && n.hasOwnRule && n != d.rule {
		d.check(n, oldValue, newValue)
		return
	}
	if d.policy.isLoose() && n != nil && n.hasRulesBelow {
		oldValue, newValue = alignEmpty(oldValue, newValue)
	}
	switch oldValue := oldValue.(type) {
	case map[string]any:
		newValue, isObject := newValue.(map[string]any)
		if isObject && len(d.steps) < d.floor {
			d.objects(n, oldValue, newValue)
			return
		}
	case []any:
		newValue, isList := newValue.([]any)
		if isList && len(d.steps) < d.floor {
			d.lists(n, oldValue, newValue)
			return
		}
	}
	if d.policy.equal(n, oldValue, newValue) {
		return
	}
	d.report(d.rule, operation(oldValue, newValue), oldValue, newValue)
}

func operation(oldValue, newValue any) Operation {
	if _, isAbsent := oldValue.(value.Absent); isAbsent {
		return Added
	}
	if _, isAbsent := newValue.(value.Absent); isAbsent {
		return Removed
	}
	return Changed
}

func (d *differenceWalk) objects(n *node, oldMap, newMap map[string]any) {
	if value.SameObject(oldMap, newMap) {
		return
	}
	keys := slices.AppendSeq(make([]string, 0, len(oldMap)), maps.Keys(oldMap))
	for key := range newMap {
		if _, known := oldMap[key]; !known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		d.push(key)
		d.compare(n.child(key), lookup(oldMap, key), lookup(newMap, key))
		d.pop()
	}
}

func (d *differenceWalk) lists(n *node, oldList, newList []any) {
	if value.SameList(oldList, newList) {
		return
	}
	switch kind, keys := n.listType(); kind {
	case setList:
		d.setItems(n, setRule{d.rule, ImmutableKeys}, oldList, newList)
	case mapList:
		d.keyedItems(n, keys, oldList, newList)
	default:
		d.orderedItems(n, oldList, newList)
	}
}

// keyedItems reports the differences of two lists of type map. It compares the items
// that have the same keys. Then it reports a change of the order, which is a
// violation too.
func (d *differenceWalk) keyedItems(n *node, keys []string, oldList, newList []any) {
	pairs := d.policy.comparison.PairKeys(keys, oldList, newList)
	last, inOrder := -1, true
	for i, oldItem := range oldList {
		j := pairs.Partner(i)
		d.pushItem(keys, oldList, i)
		if j < 0 {
			d.report(d.rule, Removed, oldItem, nil)
		} else {
			inOrder = inOrder && j > last
			last = j
			d.compare(n.item(i), oldItem, newList[j])
		}
		d.pop()
	}
	d.addedItems(d.rule, keys, newList, pairs)
	if !inOrder {
		d.report(d.rule, Reordered, oldList, newList)
	}
}

// orderedItems reports the differences of two lists without keys. It compares the
// items that have the same index.
func (d *differenceWalk) orderedItems(n *node, oldList, newList []any) {
	if d.isReordering(n, oldList, newList) {
		d.report(d.rule, Reordered, oldList, newList)
		return
	}
	both := min(len(oldList), len(newList))
	for i := range both {
		d.pushIndex(i)
		d.compare(n.item(i), oldList[i], newList[i])
		d.pop()
	}
	for i := both; i < len(oldList); i++ {
		d.pushIndex(i)
		d.report(d.rule, Removed, oldList[i], nil)
		d.pop()
	}
	for i := both; i < len(newList); i++ {
		d.pushIndex(i)
		d.report(d.rule, Added, nil, newList[i])
		d.pop()
	}
}

// isReordering reports whether two lists have the same items in another order. It
// compares only the hashes of the items.
func (d *differenceWalk) isReordering(n *node, oldList, newList []any) bool {
	if len(oldList) != len(newList) || len(oldList) < 2 || n != nil && n.tuple != nil {
		return false
	}
	oldHashes, newHashes := d.hasher.Items(n.shape(), oldList), d.hasher.Items(n.shape(), newList)
	if slices.Equal(oldHashes, newHashes) {
		return false
	}
	count := make(map[uint64]int, len(oldHashes))
	for _, h := range oldHashes {
		count[h]++
	}
	for _, h := range newHashes {
		if count[h] == 0 {
			return false
		}
		count[h]--
	}
	return true
}
