package immutability

import "holdfast.dev/holdfast/value"

// items checks a list. The node of the items checks an item that is in both lists.
// The marker of n checks an item that is in only one of them.
func (w *walker) items(n *node, oldList, newList []any) {
	switch n.list {
	case mapList:
		w.mapItems(n, oldList, newList)
	case setList:
		// An item that is in both sets did not change, so only added and removed
		// items can be violations.
		if n.marker.has(ImmutableKeys) {
			w.setItems(n, setRule{n, n.marker}, oldList, newList)
		}
	default:
		for i := range min(len(oldList), len(newList)) {
			w.pushIndex(i)
			w.check(n.item(i), oldList[i], newList[i])
			w.pop()
		}
	}
}

func (w *walker) mapItems(n *node, oldList, newList []any) {
	pairs := w.policy.comparison.PairKeys(n.keys, oldList, newList)
	for i, oldItem := range oldList {
		j := pairs.Partner(i)
		if j < 0 && !n.marker.has(NoRemoveItem) {
			continue
		}
		w.pushItem(n.keys, oldList, i)
		if j >= 0 {
			w.check(n.item(i), oldItem, newList[j])
		} else {
			w.report(n, Removed, oldItem, nil)
		}
		w.pop()
	}
	if n.marker.has(NoAddItem) {
		w.addedItems(n, n.keys, newList, pairs)
	}
}

// addedItems reports the added items of a list of type map.
func (w *walker) addedItems(rule *node, keys []string, newList []any, pairs value.Pairs) {
	for j := pairs.InOrder(); j < len(newList); j++ {
		if pairs.IsNew(j) {
			w.pushItem(keys, newList, j)
			w.report(rule, Added, nil, newList[j])
			w.pop()
		}
	}
}

// setRule is a rule about the items of a set.
type setRule struct {
	*node
	// forbids is NoRemoveItem, NoAddItem or both.
	forbids Marker
}

// setItems reports the items of a set at n that rule forbids to remove or add.
func (w *walker) setItems(n *node, rule setRule, oldList, newList []any) {
	pairs := w.policy.comparison.PairValues(n.shape(), oldList, newList)
	if rule.forbids.has(NoRemoveItem) {
		for i := pairs.InOrder(); i < len(oldList); i++ {
			if pairs.Partner(i) < 0 {
				w.pushMember(oldList, i)
				w.report(rule.node, Removed, oldList[i], nil)
				w.pop()
			}
		}
	}
	if rule.forbids.has(NoAddItem) {
		for j := pairs.InOrder(); j < len(newList); j++ {
			if pairs.IsNew(j) {
				w.pushMember(newList, j)
				w.report(rule.node, Added, nil, newList[j])
				w.pop()
			}
		}
	}
}
