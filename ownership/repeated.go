package ownership

import "holdfast.dev/holdfast/value"

// followRepeated compares items with the same keys, if the configuration has several of them.
// kubectl merges all of them into the first live item with these keys, so apply may change
// another item than the one that a client changed. followRepeated therefore compares all items
// with these keys together, unless one of them is already in a finding. known is the number of
// findings before the items of this list.
func (a *applyJudgement) followRepeated(p *plan, t triple, known int) {
	for i := range p.below {
		// The first of the items stands for all of them.
		if first := &p.below[i]; first.isRepeated && first.earlier == 0 {
			a.path = append(a.path, first.step)
			if !a.isReported(known) {
				a.compareRepeated(p.node.keys, first, t)
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
	like, live := one.keyed(), newItems(t.live, k)
	all := triple{live: live.all(like), updated: newItems(t.updated, k).all(like)}
	if a.mode.Equal(all.live, all.updated) {
		return
	}
	isChanged := false
	for before, compared := range t.before.compared(like, live) {
		isChanged = isChanged || !before.isWrittenIn(compared)
	}
	if isChanged {
		all.before = t.before.wholeGroup(like)
		a.add(Reverts, all)
	}
}

// wholeGroup returns the plan of all items with the same keys as another, as one value.
func (p *plan) wholeGroup(like map[string]any) *plan {
	var shown, values []any
	for one := range p.group(like) {
		shown, values = append(shown, one.shown), append(values, one.value)
	}
	return &plan{shown: oneOrAll(shown), value: oneOrAll(values), isLeaf: true}
}
