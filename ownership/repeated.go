package ownership

import "holdfast.dev/holdfast/value"

// followRepeated compares items with the same keys, if the configuration has several of them.
// kubectl merges all of them into the first live item with these keys, so apply may change
// another item than the one that a client changed. followRepeated therefore compares all items
// with these keys together, unless one of them is already in a finding. known is the number of
// findings before the items of this list.
func (a *applyJudgement) followRepeated(p *plan, t triple, known int) {
	for i := range p.below {
		// The second of the items stands for all of them.
		if second := &p.below[i]; second.earlier == 1 {
			a.path = append(a.path, second.step)
			if !a.isReported(known) {
				a.compareRepeated(p.node.keys, second, t)
			}
			a.path = a.path[:len(a.path)-1]
		}
	}
}

// isReported reports whether one of the later findings is about the field at the path, or a
// part of it.
func (a *applyJudgement) isReported(known int) bool {
	path := value.NewPath(a.path...)
	for _, f := range a.Findings[known:] {
		if isWithin(f.Path.Path, path) {
			return true
		}
	}
	return false
}

// compareRepeated compares the items with the same keys as one of them. t is the list.
func (a *applyJudgement) compareRepeated(k keys, one *plan, t triple) {
	like, _ := one.shown.(map[string]any)
	live := newItems(t.live, k)
	all := triple{live: live.all(like), updated: newItems(t.updated, k).all(like)}
	if a.mode.Equal(all.live, all.updated) {
		return
	}
	var applied []any
	isChanged := false
	for before := t.before.item(like, 0); before != nil; before = t.before.item(like, len(applied)) {
		isChanged = isChanged || !before.isWrittenIn(live.find(like, len(applied)))
		applied = append(applied, before.shown)
	}
	if isChanged {
		all.before = &plan{shown: applied, isLeaf: true}
		a.add(Reverts, all)
	}
}
