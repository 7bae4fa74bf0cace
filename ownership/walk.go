package ownership

import "holdfast.dev/holdfast/value"

// walk visits the fields of a last-applied configuration and compares their values in
// the object before and after a write.
type walk struct {
	*judgement
	path []value.Step
	// isQuiet means that the walk only finds out whether there is a finding.
	isQuiet bool
	found   bool
}

// owned finds the fields of the plan that a write changes. A write that sets a field
// to the applied value repairs it, and is no finding.
func (w *walk) owned(p *plan, live, updated any) {
	noLive, noUpdated := w.mode.IsAbsent(live), w.mode.IsAbsent(updated)
	switch {
	case noLive && noUpdated || w.isQuiet && w.found:
	case p.isLeaf || !p.node.fits(live) || !p.node.fits(updated):
		if !w.mode.Equal(live, updated) && !w.isApplied(p, w.New, w.path, updated) {
			w.report(p, live, updated)
		}
	case noUpdated:
		// The whole value goes: one finding, if an owned field goes with it.
		inside := walk{judgement: w.judgement, path: w.path, isQuiet: true}
		if inside.below(p, live, updated); inside.found || p.ownsPresence() {
			w.report(p, live, updated)
		}
	default:
		w.below(p, live, updated)
	}
}

// below finds the fields inside of a value.
func (w *walk) below(p *plan, live, updated any) {
	if p.node.shape == keyed {
		w.items(p, newItems(live, p.node.keys), newItems(updated, p.node.keys))
		return
	}
	for field := range p.changes(live, updated) {
		w.path = append(w.path, field.step)
		w.owned(field.plan, field.live, field.updated)
		w.path = w.path[:len(w.path)-1]
	}
}

// items finds the fields inside of the items of a list.
func (w *walk) items(list *plan, live, updated items) {
	for i := range list.below {
		item := &list.below[i]
		like := item.keyed()
		w.path = append(w.path, item.step)
		switch {
		case !item.isRepeated && !live.repeats(like) && !updated.repeats(like):
			w.owned(item, live.find(like, 0), updated.find(like, 0))
		case item.earlier == 0:
			// The first of the items stands for all of them.
			r := repeated{list: list, like: like, live: live.group(like), updated: updated.group(like)}
			if !w.mode.Equal(r.live, r.updated) {
				r.next = list.merged(like, updated)
				w.repeated(r)
			}
		}
		w.path = w.path[:len(w.path)-1]
	}
}

func (w *walk) report(p *plan, live, updated any) {
	if w.found = true; w.isQuiet {
		return
	}
	f := Finding{
		Path: newPath(w.path), Live: live, New: updated, Applied: p.applied(),
		Drifted: !p.isWrittenIn(live) || p.isLeaf && isAbsent(p.value) && !w.mode.IsAbsent(live),
	}
	if p.isRetained {
		f.unit = newPath(w.path[:len(w.path)-1])
	}
	w.Findings = append(w.Findings, f)
}

// fits reports whether a value has the type of the node, or is absent.
func (n *node) fits(v any) bool {
	if isAbsent(v) {
		return true
	}
	ok := false
	switch n.shape {
	case record, mapping:
		_, ok = v.(map[string]any)
	case keyed, set:
		_, ok = v.([]any)
	}
	return ok
}
