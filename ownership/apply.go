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
	applied := j.config
	if applied == nil || text != lastApplied(j.Live) {
		config := j.Type.parse(text)
		applied = &config
	}
	if j.Note == "" {
		j.Note = applied.note
	}
	if applied.values == nil {
		return
	}
	a := applyJudgement{judgement: j}
	var before any = value.Absent{}
	if j.config != nil && j.config.values != nil {
		before, a.owns = j.config.values, true
	}
	a.follow(j.Type.Applied.root, applied.values, triple{before, j.Live, j.New})
}

// applyJudgement is the judgement of one apply.
type applyJudgement struct {
	*judgement
	path []value.Step
	// owns means that the object was applied before.
	owns bool
}

// follow walks through the configuration that is being applied. In the triple,
// applied is the value that was applied before.
func (a *applyJudgement) follow(n *node, wanted any, t triple) {
	if isAbsent(t.live) {
		// The live object does not have the field: either this apply adds it, or
		// another client removed it.
		if !isAbsent(t.updated) && touches(n, t.applied, t.updated) {
			a.report(Reverts, t)
		}
		return
	}
	switch n.shape {
	case record, mapping:
		object, ok := wanted.(map[string]any)
		live, okLive := t.live.(map[string]any)
		if ok && okLive {
			a.followObject(n, object, live, t)
			return
		}
	case keyed:
		_, ok := wanted.([]any)
		if _, okLive := t.live.([]any); ok && okLive {
			a.followItems(n, wanted, t)
			return
		}
	case set:
		list, ok := wanted.([]any)
		if _, okLive := t.live.([]any); ok && okLive {
			a.followMembers(list, t)
			return
		}
	}
	a.compare(t)
}

func (a *applyJudgement) followObject(n *node, wanted, live map[string]any, t triple) {
	before, _ := t.applied.(map[string]any)
	updated, _ := t.updated.(map[string]any)
	for name, v := range wanted {
		if v == nil {
			continue
		}
		a.path = append(a.path, nameStep(name))
		a.follow(n.child(name), v, triple{field(before, name), field(live, name), field(updated, name)})
		a.path = a.path[:len(a.path)-1]
	}
}

func (a *applyJudgement) followItems(n *node, wanted any, t triple) {
	before, live, updated := newItems(t.applied, n.keys), newItems(t.live, n.keys), newItems(t.updated, n.keys)
	newItems(wanted, n.keys).each(func(item map[string]any, earlier int) {
		place := triple{before.find(item, earlier), live.find(item, earlier), updated.find(item, earlier)}
		known := len(a.Findings)
		a.path = append(a.path, itemStep(n.keys, item))
		a.follow(n.elem, item, place)
		if a.owns && isAbsent(place.applied) && !isAbsent(place.live) && len(a.Findings) == known {
			a.report(TakesOver, place)
		}
		a.path = a.path[:len(a.path)-1]
	})
}

func (a *applyJudgement) followMembers(wanted []any, t triple) {
	before, live, updated := newMembership(t.applied), newMembership(t.live), newMembership(t.updated)
	for _, member := range wanted {
		place := triple{before.find(member), live.find(member), updated.find(member)}
		a.path = append(a.path, memberStep(member))
		switch {
		case isAbsent(place.live) && !isAbsent(place.applied) && !isAbsent(place.updated):
			a.report(Reverts, place)
		case a.owns && isAbsent(place.applied) && !isAbsent(place.live):
			a.report(TakesOver, place)
		}
		a.path = a.path[:len(a.path)-1]
	}
}

// compare judges one applied field.
func (a *applyJudgement) compare(t triple) {
	switch {
	case equal(t.live, t.updated):
	case isAbsent(t.applied):
		a.report(ChangesForeign, t)
	case equal(t.live, t.applied):
	case contains(t.live, t.applied) && a.isOwn(a.path):
		// The server added defaults inside of the value.
	default:
		a.report(Reverts, t)
	}
}

func (a *applyJudgement) report(kind Kind, t triple) {
	// If the apply manager owns the field, no other client set the value: an earlier
	// apply wrote it, or the server set it as a default in such a write.
	if kind != Reverts && a.isOwn(a.path) {
		return
	}
	f := Finding{Kind: kind, Path: newPath(a.path), Live: t.live, New: t.updated, Applied: t.applied}
	f.LastSet, _ = a.managers.latest(a.path, func(entry *metav1.ManagedFieldsEntry) bool { return !a.isApply(entry) })
	a.Findings = append(a.Findings, f)
}

func (a *applyJudgement) isOwn(path []value.Step) bool { return a.managers.owns(path, a.isApply) }

// isApply reports whether an entry is of the field manager of kubectl apply, or of
// the client that applies now.
func (a *applyJudgement) isApply(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == applyManager || entry.Manager == a.Write.Writer.Manager
}
