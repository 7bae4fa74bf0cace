package immutability

// items judges a list: matched items by the node of the items, others by the
// marker of n.
func (w *walker) items(n *node, oldList, newList []any) {
	switch n.list {
	case mapList:
		w.mapItems(n, oldList, newList)
	case setList:
		// Matched items are equal, so only the others can be wrong.
		if n.marker != Free {
			w.setItems(n, n, oldList, newList)
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
	m := w.policy.matchKeys(n.keys, oldList, newList)
	for i, oldItem := range oldList {
		j := m.partner(i)
		if j < 0 && !n.marker.forbidsRemoving() {
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
	if n.marker.forbidsAdding() {
		w.addedItems(n, n.keys, newList, m)
	}
}

// addedItems reports the items of a list of type map that are new.
func (w *walker) addedItems(rule *node, keys []string, newList []any, m matching) {
	for j := m.inOrder; j < len(newList); j++ {
		if m.isNew(j) {
			w.pushItem(keys, newList, j)
			w.report(rule, Added, nil, newList[j])
			w.pop()
		}
	}
}

// setItems reports the items of a set, known as n, that rule forbids to go or come.
func (w *walker) setItems(n, rule *node, oldList, newList []any) {
	m := w.policy.matchValues(n, oldList, newList)
	if rule.marker.forbidsRemoving() {
		for i := m.inOrder; i < len(oldList); i++ {
			if m.partner(i) < 0 {
				w.pushMember(oldList, i)
				w.report(rule, Removed, oldList[i], nil)
				w.pop()
			}
		}
	}
	if rule.marker.forbidsAdding() {
		for j := m.inOrder; j < len(newList); j++ {
			if m.isNew(j) {
				w.pushMember(newList, j)
				w.report(rule, Added, nil, newList[j])
				w.pop()
			}
		}
	}
}
