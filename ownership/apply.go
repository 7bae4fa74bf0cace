package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/value"
)

// judgeApply finds fields in the applied configuration that another client changed
// since the last apply, or that apply did not own before.
func (j *judgement) judgeApply() {
	text := lastApplied(j.New)
	if text == "" {
		return
	}
	applied := j.configuration(text)
	if j.Note == "" {
		j.Note = applied.note
	}
	if applied.values == nil {
		return
	}
	a := applyJudgement{judgement: j}
	var before *plan
	if j.config != nil && j.config.values != nil {
		before, a.owns = j.config.plan(), true
	}
	a.follow(applied.plan(), triple{before, j.Live, j.New})
}

// applyJudgement is the judgement of one apply.
type applyJudgement struct {
	*judgement
	path []value.Step
	// owns means that the object was applied before.
	owns bool
}

// triple is one field before and after an apply. before is its plan in the
// configuration that was applied before, nil if that did not have the field.
type triple struct {
	before        *plan
	live, updated any
}

// follow walks through the configuration that is being applied.
func (a *applyJudgement) follow(p *plan, t triple) {
	switch {
	case a.mode.IsAbsent(t.live):
		// The live object does not have the field: either this apply adds it, or
		// another client removed it.
		if t.before.isRestoredIn(t.updated, a.mode) {
			a.report(Reverts, t)
		}
	case p.isLeaf || !p.node.fits(t.live):
		a.compare(p, t)
	case p.node.shape == keyed:
		a.followItems(p, t)
	case p.node.shape == set:
		a.followMembers(p, t)
	default:
		for field := range p.changes(t.live, t.updated) {
			a.step(field.plan, triple{t.before.child(field.step.Name), field.live, field.updated})
		}
	}
}

func (a *applyJudgement) step(p *plan, t triple) {
	a.path = append(a.path, p.step)
	a.follow(p, t)
	a.path = a.path[:len(a.path)-1]
}

func (a *applyJudgement) followItems(p *plan, t triple) {
	defer a.followRepeated(p, t, len(a.Findings))
	for field := range p.changes(t.live, t.updated) {
		place := triple{t.before.item(field.keyed(), field.earlier), field.live, field.updated}
		known := len(a.Findings)
		a.path = append(a.path, field.step)
		a.follow(field.plan, place)
		if a.owns && place.before == nil && !isAbsent(place.live) && len(a.Findings) == known {
			a.report(TakesOver, place)
		}
		a.path = a.path[:len(a.path)-1]
	}
}

func (a *applyJudgement) followMembers(p *plan, t triple) {
	for field := range p.changes(t.live, t.updated) {
		place := triple{t.before.member(field.value), field.live, field.updated}
		a.path = append(a.path, field.step)
		switch {
		case isAbsent(place.live) && place.before != nil && !isAbsent(place.updated):
			a.report(Reverts, place)
		case a.owns && place.before == nil && !isAbsent(place.live):
			a.report(TakesOver, place)
		}
		a.path = a.path[:len(a.path)-1]
	}
}

// compare judges one applied field that the live object has.
func (a *applyJudgement) compare(p *plan, t triple) {
	switch {
	case a.mode.Equal(t.live, t.updated):
	case t.before == nil && p.isRetained:
		// The manager of apply may own a part of the value, from defaults.
		if !a.isDefault(a.path, t.live) {
			a.add(ChangesForeign, t)
		}
	case t.before == nil:
		a.report(ChangesForeign, t)
	case p.isNull() && (!t.before.isNull() || t.live == "" && a.isOwn()):
		// Apply clears a field that it owned. It may also be its own value: the server
		// stores a null in a map of strings as "" when apply creates the object.
	case !a.isUnchanged(t):
		a.report(Reverts, t)
	}
}

// isUnchanged reports whether the live value is the one that was applied before.
func (a *applyJudgement) isUnchanged(t triple) bool {
	if t.before.isLeaf && a.judgement.isApplied(t.before, a.Live, a.path, t.live) {
		return true
	}
	// If the defaults of the kind are not known, the server may have added them.
	return (a.Type.Default == nil || !t.before.isLeaf) && t.before.isWrittenIn(t.live) && a.isOwn()
}

func (a *applyJudgement) report(kind Kind, t triple) {
	// If the apply manager owns the field, no other client set the value: an earlier
	// apply wrote it, or the server set it as a default in such a write. The default may
	// be recorded for another manager, too.
	if kind == Reverts || !a.isOwn() && !a.isDefault(a.path, t.live) {
		a.add(kind, t)
	}
}

func (a *applyJudgement) add(kind Kind, t triple) {
	f := Finding{Kind: kind, Path: newPath(a.path), Live: t.live, New: t.updated, Applied: value.Absent{}}
	if t.before != nil {
		f.Applied = t.before.applied()
	}
	f.LastSet, _ = a.managers.latest(a.path, func(entry *metav1.ManagedFieldsEntry) bool { return !a.isApply(entry) })
	a.Findings = append(a.Findings, f)
}

// isOwn reports whether the manager of apply owns the field at the path.
func (a *applyJudgement) isOwn() bool { return a.managers.owns(a.path, a.isApply) }

// isApply reports whether an entry is of the field manager of kubectl apply, or of
// the client that applies now.
func (a *applyJudgement) isApply(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == applyManager || entry.Manager == a.Write.Writer.Manager
}
