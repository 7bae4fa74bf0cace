package ownership

import (
	"maps"
	"slices"
)

// repeated is the items of a list with the same keys as the item like, before and after a write.
// next is the first of them after the next apply.
type repeated struct {
	list          *plan
	like          map[string]any
	live, updated []any
	next          any
}

// repeated finds the changes to repeated items that the next apply changes again. The
// configuration or the object has several items with the same keys, for example two owner
// references with the same UID. An apply merges all items of the configuration into the first
// live item with these keys, and leaves the other live items as they are. So an item of the
// configuration says nothing about the live item at its own place. If a write removes the second
// item, apply does not bring it back, and it changes the first item only if that has other
// values. The server removes items, too: an owner reference that is equal to an earlier one.
func (w *walk) repeated(r repeated) {
	after, _ := place(w.New, w.path, r.next).(map[string]any)
	if len(r.live) != len(r.updated) {
		if !w.isKept(after, oneOrAll(r.updated[:min(1, len(r.updated))]), r.next) {
			w.report(r.list.wholeGroup(r.like), oneOrAll(r.live), oneOrAll(r.updated))
		}
		return
	}
	first, _ := r.updated[0].(map[string]any)
	next, _ := r.next.(map[string]any)
	names := maps.Clone(first)
	maps.Copy(names, next)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w.path = append(w.path, nameStep(name))
		if !w.isKept(after, field(first, name), field(next, name)) {
			w.repeatedField(r, name)
		}
		w.path = w.path[:len(w.path)-1]
	}
}

// isKept reports whether the value at the path stays as it is if apply sets it to next. after
// is the object with the values that apply sets, without defaults.
func (w *walk) isKept(after map[string]any, now, next any) bool {
	return w.mode.Equal(now, next) || w.defaultsTo(after, w.path, now)
}

// repeatedField reports the first change to a field of repeated items.
func (w *walk) repeatedField(r repeated, name string) {
	for i := range r.live {
		live, _ := r.live[i].(map[string]any)
		updated, _ := r.updated[i].(map[string]any)
		x, y := field(live, name), field(updated, name)
		if w.mode.Equal(x, y) {
			continue
		}
		applied := r.list.item(r.like, i).child(name)
		if applied == nil {
			// Another of the items has the field.
			next, _ := r.next.(map[string]any)
			applied = &plan{shown: field(next, name), value: field(next, name), isLeaf: true}
		}
		w.report(applied, x, y)
		return
	}
}
