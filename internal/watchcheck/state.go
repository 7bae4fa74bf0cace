package watchcheck

import (
	"maps"
	"slices"
)

// list compares a list with the store at its revision.
func (c *checker) list(r record) {
	c.report.Lists++
	if r.revision < c.position {
		c.violate(Ordered, "%s comes after revision %d", r, c.position)
	}
	c.begin(r.revision)
	got := map[string]shown{}
	for _, object := range r.objects {
		if _, twice := got[object.key]; twice {
			c.violate(Unique, "%s has %s twice", r, object.key)
		}
		got[object.key] = object
	}
	c.compare(r, got)
	c.shown = max(c.shown, c.next)
}

// compare compares objects with the store at a revision.
func (c *checker) compare(r record, got map[string]shown) {
	switch {
	case r.revision < c.truth.start:
		c.report.Unknown++
		return
	case !c.truth.known(r.revision):
		c.violate(Reliable, "%s is newer than the store, which is at %d", r, c.truth.end)
		return
	}
	want := c.stream.state(c.truth, r.revision)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		object, ok := got[key]
		switch {
		case !ok:
			c.violate(Reliable, "%s has no %s, which is stored since %d", r, key, want[key].revision)
		case object != want[key]:
			c.violate(Content, "%s has %s of revision %d\n    %s\n  and not of revision %d\n    %s",
				r, key, object.revision, object.text.Value(), want[key].revision, want[key].text.Value())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; ok {
			continue
		}
		if c.truth.at(key, r.revision) != nil {
			c.violate(Filtered, "%s has %s, which the selector does not match", r, key)
		} else {
			c.violate(Reliable, "%s has %s, which is not stored", r, key)
		}
	}
}

// endInitial checks the events of a watch up to the end of its initial events. These are the objects of the store at some revision, in any
// order, and then the events of the writes up to the revision of the bookmark.
func (c *checker) endInitial(r record) {
	c.report.Bookmarks++
	if c.initial == nil {
		c.violate(Bookmarkable, "%s comes a second time, or in a watch without initial events", r)
		return
	}
	events, requested := *c.initial, c.requested
	c.begin(r.revision)
	c.report.Events += len(events)
	if r.revision < requested {
		c.violate(Bookmarkable, "%s comes although the watch began at %d", r, requested)
	}
	if !c.truth.known(r.revision) || !c.explained(events) {
		before := len(c.report.Violations)
		c.compare(r, c.folded(r, events))
		if c.truth.known(r.revision) && len(c.report.Violations) == before {
			c.violate(Ordered, "the events before %s are not the objects of a revision and the writes since then", r)
		}
	}
	c.shown = max(c.shown, c.next)
}

// explained reports whether the events are the objects at a revision and the events of the writes since then.
func (c *checker) explained(events []record) bool {
	for later := 0; later <= len(events) && later <= c.next; later++ {
		if later > 0 && !c.expected[c.next-later].is(events[len(events)-later]) {
			return false
		}
		if later > 0 && c.expected[c.next-later].half == 2 {
			continue // the deletion is one of the events too
		}
		snapshot := events[:len(events)-later]
		revision := c.position
		if later > 0 {
			revision = c.expected[c.next-later].write - 1
		}
		if c.truth.known(revision) && c.isState(snapshot, revision) {
			return true
		}
	}
	return false
}

// isState reports whether events add the objects at a revision.
func (c *checker) isState(events []record, revision uint64) bool {
	want := c.stream.state(c.truth, revision)
	if len(want) != len(events) {
		return false
	}
	for _, e := range events {
		if object, ok := want[e.object.key]; !ok || e.kind != added || object != e.object {
			return false
		}
		delete(want, e.object.key)
	}
	return true
}

// folded returns the objects that the events leave. It reports events that do not fit to each other.
func (c *checker) folded(r record, events []record) map[string]shown {
	objects := map[string]shown{}
	for _, e := range events {
		if _, exists := objects[e.object.key]; exists == (e.kind == added) {
			c.violate(Ordered, "%s comes before %s, and the watch has shown the object: %t", e, r, exists)
		}
		if objects[e.object.key] = e.object; e.kind == deleted {
			delete(objects, e.object.key)
		}
	}
	return objects
}
