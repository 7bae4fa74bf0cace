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
	findLive, findUpdated := p.finder(live), p.finder(updated)
	for i := range p.below {
		below := &p.below[i]
		w.path = append(w.path, below.step)
		w.owned(below, findLive(below), findUpdated(below))
		w.path = w.path[:len(w.path)-1]
	}
}

func (w *walk) report(p *plan, live, updated any) {
	if w.found = true; w.isQuiet {
		return
	}
	w.Findings = append(w.Findings, Finding{
		Path: newPath(w.path), Live: live, New: updated, Applied: p.applied(), Drifted: !p.isWrittenIn(live),
	})
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
