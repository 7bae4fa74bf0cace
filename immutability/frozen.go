package immutability

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// maxBelow is how far below a marked node differences are told apart. What
// differs deeper is reported there as one change, which bounds the work on
// objects that are nested without end.
const maxBelow = 64

// frozen reports how two values under an immutable rule differ. n is what the
// policy knows of them, nil for nothing.
func (w *walker) frozen(n, rule *node, oldValue, newValue any) {
	f := frost{walker: w, rule: rule, floor: len(w.steps) + maxBelow}
	f.hasher = w.policy.comparison.NewHasher()
	f.differ(n, oldValue, newValue)
}

// frost is the walk below one immutable node.
type frost struct {
	*walker
	rule   *node
	floor  int // steps at which the walk ends
	hasher value.Hasher
}

// differ reports the differences of two values. No difference, no report: it
// says the same as equal, and where from.
func (f *frost) differ(n *node, oldValue, newValue any) {
	if n != nil && n.owns && n != f.rule {
		f.check(n, oldValue, newValue)
		return
	}
	if f.policy.isLoose() && n != nil && n.carved {
		oldValue, newValue = leveled(oldValue, newValue)
	}
	switch oldValue := oldValue.(type) {
	case map[string]any:
		newValue, isObject := newValue.(map[string]any)
		if isObject && len(f.steps) < f.floor {
			f.objects(n, oldValue, newValue)
			return
		}
	case []any:
		newValue, isList := newValue.([]any)
		if isList && len(f.steps) < f.floor {
			f.lists(n, oldValue, newValue)
			return
		}
	}
	if f.policy.equal(n, oldValue, newValue) {
		return
	}
	f.report(f.rule, operation(oldValue, newValue), oldValue, newValue)
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

func (f *frost) objects(n *node, oldMap, newMap map[string]any) {
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
		f.push(key)
		f.differ(n.child(key), lookup(oldMap, key), lookup(newMap, key))
		f.pop()
	}
}

func (f *frost) lists(n *node, oldList, newList []any) {
	if value.SameList(oldList, newList) {
		return
	}
	switch kind, keys := n.listType(); kind {
	case setList:
		f.setItems(n, f.rule, oldList, newList)
	case mapList:
		f.keyedItems(n, keys, oldList, newList)
	default:
		f.orderedItems(n, oldList, newList)
	}
}

// keyedItems reports the differences of two lists of type map: by key, because
// that is how people name their items, and then the order, because it counts.
func (f *frost) keyedItems(n *node, keys []string, oldList, newList []any) {
	pairs := f.policy.comparison.PairKeys(keys, oldList, newList)
	last, inOrder := -1, true
	for i, oldItem := range oldList {
		j := pairs.Partner(i)
		f.pushItem(keys, oldList, i)
		if j < 0 {
			f.report(f.rule, Removed, oldItem, nil)
		} else {
			inOrder = inOrder && j > last
			last = j
			f.differ(n.item(i), oldItem, newList[j])
		}
		f.pop()
	}
	f.addedItems(f.rule, keys, newList, pairs)
	if !inOrder {
		f.report(f.rule, Reordered, oldList, newList)
	}
}

// orderedItems reports the differences of two lists whose items are known by
// their places only.
func (f *frost) orderedItems(n *node, oldList, newList []any) {
	if f.isReordering(n, oldList, newList) {
		f.report(f.rule, Reordered, oldList, newList)
		return
	}
	both := min(len(oldList), len(newList))
	for i := range both {
		f.pushIndex(i)
		f.differ(n.item(i), oldList[i], newList[i])
		f.pop()
	}
	for i := both; i < len(oldList); i++ {
		f.pushIndex(i)
		f.report(f.rule, Removed, oldList[i], nil)
		f.pop()
	}
	for i := both; i < len(newList); i++ {
		f.pushIndex(i)
		f.report(f.rule, Added, nil, newList[i])
		f.pop()
	}
}

// isReordering says whether the lists differ, and only in their order. Hashes are
// enough for that: where they differ in any place, so do the items.
func (f *frost) isReordering(n *node, oldList, newList []any) bool {
	if len(oldList) != len(newList) || len(oldList) < 2 || n != nil && n.tuple != nil {
		return false
	}
	oldHashes, newHashes := f.hasher.Items(n.shape(), oldList), f.hasher.Items(n.shape(), newList)
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
