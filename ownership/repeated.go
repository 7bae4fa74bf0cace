package ownership

import (
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/value"
)

// followRepeated compares items with the same keys, if the configuration has several of them.
// kubectl merges all of them into the first live item with these keys, so apply may change
// another item or another field than the one that a client changed. followRepeated therefore
// compares all items with these keys together. Its finding replaces those about single fields,
// unless they name every field that apply changes. known is the number of findings before the
// items of this list.
func (a *applyJudgement) followRepeated(p *plan, t triple, known int) {
	for i := range p.below {
		// The first of the items stands for all of them.
		if first := &p.below[i]; first.isRepeated && first.earlier == 0 {
			a.path = append(a.path, first.step)
			a.compareRepeated(p.node, first.keyed(), t, known)
			a.path = a.path[:len(a.path)-1]
		}
	}
}

// compareRepeated compares the items with the same keys as one of them. t is the list, and n its
// node.
func (a *applyJudgement) compareRepeated(n *node, like map[string]any, t triple, known int) {
	live, updated := newItems(t.live, n.keys), newItems(t.updated, n.keys)
	if a.isReported(n.elem, live.group(like), updated.group(like), known) || !a.isChangedGroup(t.before, like, live) {
		return
	}
	path := value.NewPath(a.path...)
	isPart := func(f Finding) bool { return isWithin(f.Path.Path, path) }
	a.Findings = append(a.Findings[:known], slices.DeleteFunc(a.Findings[known:], isPart)...)
	a.add(Reverts, triple{before: t.before.wholeGroup(like), live: live.all(like), updated: updated.all(like)})
}

// isReported reports whether the later findings name every field of the items at the path that
// apply changes.
func (a *applyJudgement) isReported(n *node, live, updated []any, known int) bool {
	if len(live) != len(updated) {
		return false
	}
	c := changeWalk{mode: a.mode, path: slices.Clone(a.path), limit: math.MaxInt}
	for i := range live {
		c.compare(n, live[i], updated[i])
	}
	isMissing := func(path Path) bool {
		return !slices.ContainsFunc(a.Findings[known:], func(f Finding) bool { return isWithin(path.Path, f.Path.Path) })
	}
	return !slices.ContainsFunc(c.paths, isMissing)
}

// isChangedGroup reports whether another client changed the items with the same keys as one of
// them since the last apply. before is the list in the configuration that was applied before, and
// the path names the items.
//
// If each live item is what the server stores for the item that kubectl compares it with, the
// object may still be as the first apply created it, although the next one changes it. Then
// another client changed the items only if it added one, or if it manages one of them.
func (a *applyJudgement) isChangedGroup(before *plan, like map[string]any, live items) bool {
	stored, applied := a.stored(before), 0
	for one, compared := range before.compared(like, live) {
		if !a.isStored(one, compared, stored.find(one.keyed(), one.earlier)) {
			return true
		}
		applied++
	}
	switch {
	case applied == 0:
		return false
	case applied < len(live.group(like)):
		return true
	}
	isOther := func(entry *metav1.ManagedFieldsEntry) bool { return !a.isApply(entry) }
	return a.managers.owns(a.path, isOther) && !a.mode.Equal(live.find(like, 0), before.merged(like, live))
}

// stored returns the items that the server stores for a list of the configuration, with their
// defaults. The path names an item of the list. The nil plan has no items.
func (a *applyJudgement) stored(list *plan) items {
	if list == nil || list.items == nil {
		return items{}
	}
	path := a.path[:len(a.path)-1]
	applied, _ := place(a.Live, path, list.value).(map[string]any)
	if complete, ok := a.withDefaults(applied); ok {
		return newItems(lookup(complete, path), list.node.keys)
	}
	return newItems(list.value, list.node.keys)
}

// isStored reports whether a live value has the value of each field of the plan. stored is the
// value that the server stores for the plan. It has the defaults of the fields that the
// configuration sets to null or to a zero value.
func (a *applyJudgement) isStored(p *plan, live, stored any) bool {
	if p.isLeaf {
		return a.mode.Equal(live, stored) || !isAbsent(p.value) && contains(live, p.value)
	}
	if p.ownsPresence() && isAbsent(live) {
		return false
	}
	find, findStored := p.finder(live), p.finder(stored)
	for below := range p.fields() {
		if !a.isStored(below, find(below), findStored(below)) {
			return false
		}
	}
	return true
}

// wholeGroup returns the plan of all items with the same keys as another, as one value.
func (p *plan) wholeGroup(like map[string]any) *plan {
	var shown, values []any
	for one := range p.group(like) {
		shown, values = append(shown, one.shown), append(values, one.value)
	}
	return &plan{shown: oneOrAll(shown), value: oneOrAll(values), isLeaf: true}
}
