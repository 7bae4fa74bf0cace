package ownership

// walk follows a last-applied configuration through the object before and after
// a write.
type walk struct {
	path  Path
	found func(Finding)
}

// trio is one place in the configuration and in both objects.
type trio struct{ applied, live, updated any }

func (w *walk) at(step Step, f func()) {
	w.path = append(w.path, step)
	f()
	w.path = w.path[:len(w.path)-1]
}

func (w *walk) report(t trio) {
	w.found(Finding{Path: append(Path(nil), w.path...), Live: t.live, New: t.updated, Applied: t.applied})
}

// owned reports what a write changes of the fields that are in the configuration.
func (w *walk) owned(n *node, t trio) {
	if isNone(t.live) || isNone(t.updated) {
		if isNone(t.live) != isNone(t.updated) && (touches(n, t.applied, t.live) || touches(n, t.applied, t.updated)) {
			w.report(t)
		}
		return
	}
	switch n.shape {
	case record, mapping:
		applied, ok := t.applied.(map[string]any)
		live, okLive := t.live.(map[string]any)
		updated, okNew := t.updated.(map[string]any)
		if ok && okLive && okNew {
			for name, value := range applied {
				if value == nil {
					continue
				}
				w.at(Step{Name: name}, func() {
					w.owned(n.child(name), trio{value, field(live, name), field(updated, name)})
				})
			}
			return
		}
	case keyed:
		if areLists(t) {
			live, updated := newItems(t.live, n.keys), newItems(t.updated, n.keys)
			newItems(t.applied, n.keys).each(func(item map[string]any, earlier int) {
				w.at(Step{Keys: n.keys, Item: item}, func() {
					w.owned(n.elem, trio{item, live.find(item, earlier), updated.find(item, earlier)})
				})
			})
			return
		}
	case members:
		if list, ok := t.applied.([]any); ok && areLists(t) {
			live, updated := newMembership(t.live), newMembership(t.updated)
			for _, member := range list {
				w.at(Step{Member: member}, func() {
					w.owned(&node{}, trio{member, live.find(member), updated.find(member)})
				})
			}
			return
		}
	}
	if !equal(t.live, t.updated) {
		w.report(t)
	}
}

func areLists(t trio) bool {
	_, applied := t.applied.([]any)
	_, live := t.live.([]any)
	_, updated := t.updated.([]any)
	return applied && live && updated
}

// touches says whether a value has anything that the configuration owns. An empty
// map or merged list owns nothing, an empty object of named fields its presence.
func touches(n *node, applied, value any) bool {
	if isNone(applied) || isNone(value) {
		return false
	}
	switch n.shape {
	case record, mapping:
		config, ok := applied.(map[string]any)
		object, okValue := value.(map[string]any)
		if ok && okValue {
			if len(config) == 0 {
				return n.shape == record
			}
			for name, v := range config {
				if touches(n.child(name), v, field(object, name)) {
					return true
				}
			}
			return false
		}
	case keyed:
		if _, ok := applied.([]any); ok {
			there, found := newItems(value, n.keys), false
			newItems(applied, n.keys).each(func(item map[string]any, earlier int) {
				found = found || !isNone(there.find(item, earlier))
			})
			return found
		}
	case members:
		if list, ok := applied.([]any); ok {
			there := newMembership(value)
			for _, member := range list {
				if !isNone(there.find(member)) {
					return true
				}
			}
			return false
		}
	}
	return true
}
