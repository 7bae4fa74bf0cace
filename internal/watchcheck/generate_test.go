package watchcheck_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"holdfast.dev/holdfast/internal/watchcheck"
)

// object returns an object of the tests.
func object(name, uid, state string, value int) watchcheck.Object {
	return watchcheck.Object{
		"metadata": map[string]any{"name": name, "uid": uid, "labels": map[string]any{"state": state}},
		"value":    strconv.Itoa(value),
	}
}

// at returns an object with a resourceVersion.
func at(o watchcheck.Object, revision uint64) watchcheck.Object {
	o = maps.Clone(o)
	metadata := maps.Clone(o["metadata"].(map[string]any))
	metadata["resourceVersion"] = strconv.FormatUint(revision, 10)
	o["metadata"] = metadata
	return o
}

func matches(o watchcheck.Object) bool {
	metadata := o["metadata"].(map[string]any)
	return metadata["labels"].(map[string]any)["state"] == "on"
}

// history are random writes: the states after each of them, and the events of a watch.
type history struct {
	truth *watchcheck.Truth
	// states are the objects after each revision, which are all from first on.
	first  uint64
	states []map[string]watchcheck.Object
}

const firstRevision = 100

// write makes random writes.
func write(random *rand.Rand, count int) *history {
	now := map[string]watchcheck.Object{"/a": at(object("a", "uid", "on", 0), 7)}
	h := &history{first: firstRevision, states: []map[string]watchcheck.Object{maps.Clone(now)}}
	h.truth = watchcheck.NewTruth(firstRevision, slices.Collect(maps.Values(now)))
	for revision := uint64(firstRevision + 1); len(h.states) <= count; revision++ {
		// Some revisions belong to writes of other resources.
		if random.IntN(4) > 0 {
			name := string(rune('a' + random.IntN(4)))
			old, exists := now["/"+name]
			uid := fmt.Sprintf("uid-%d", revision)
			if exists && random.IntN(3) > 0 {
				uid = old["metadata"].(map[string]any)["uid"].(string) // otherwise the object is replaced
			}
			next := at(object(name, uid, []string{"on", "off"}[random.IntN(2)], int(revision)), revision)
			if exists && random.IntN(5) == 0 {
				next = nil
			}
			if next == nil {
				delete(now, "/"+name)
			} else {
				now["/"+name] = next
			}
			if err := h.truth.Add(revision, "/"+name, next); err != nil {
				panic(err)
			}
		}
		h.states = append(h.states, maps.Clone(now))
	}
	h.truth.Complete(h.last())
	return h
}

func (h *history) last() uint64 { return h.first + uint64(len(h.states)) - 1 }

// action is what a server does for a client: list, watch, an event, a bookmark.
type action struct {
	kind     string
	revision uint64
	objects  []watchcheck.Object
}

// list returns the objects at a revision.
func (h *history) list(revision uint64, selected func(watchcheck.Object) bool) []watchcheck.Object {
	var all []watchcheck.Object
	for _, o := range h.states[revision-h.first] {
		if selected(o) {
			all = append(all, o)
		}
	}
	return all
}

// events returns the events of a revision, from the states before and after it.
func (h *history) events(revision uint64, selected func(watchcheck.Object) bool, asChanges bool) []action {
	before, after := h.states[revision-h.first-1], h.states[revision-h.first]
	for _, name := range []string{"/a", "/b", "/c", "/d"} {
		old, next := before[name], after[name]
		had, has := old != nil && selected(old), next != nil && selected(next)
		one := func(kind string, o watchcheck.Object, revision uint64) action {
			return action{kind, revision, []watchcheck.Object{at(o, revision)}}
		}
		switch {
		case old == nil && next == nil, old != nil && next != nil && watchcheck.RevisionOf(old) == watchcheck.RevisionOf(next):
		case had && has && !asChanges && old["metadata"].(map[string]any)["uid"] != next["metadata"].(map[string]any)["uid"]:
			return []action{one("DELETED", old, revision-1), one("ADDED", next, revision)}
		case had && has:
			return []action{one("MODIFIED", next, revision)}
		case had:
			return []action{one("DELETED", old, revision)}
		case has:
			return []action{one("ADDED", next, revision)}
		}
	}
	return nil
}

// serve returns what a client sees that lists, watches, loses its connection and resumes.
func (h *history) serve(random *rand.Rand, selected func(watchcheck.Object) bool, asChanges bool) []action {
	revision := h.first + uint64(random.IntN(len(h.states)/2))
	var seen []action
	relist := func() {
		if random.IntN(2) == 0 {
			seen = append(seen, action{"list", revision, h.list(revision, selected)}, action{kind: "watch", revision: revision})
			return
		}
		// Initial events show the objects at one revision, and the events up to the bookmark.
		seen = append(seen, action{kind: "initial", revision: revision})
		for _, o := range h.list(revision, selected) {
			seen = append(seen, action{"ADDED", watchcheck.RevisionOf(o), []watchcheck.Object{o}})
		}
		for range random.IntN(3) {
			if revision < h.last() {
				revision++
				seen = append(seen, h.events(revision, selected, asChanges)...)
			}
		}
		seen = append(seen, action{kind: "end", revision: revision})
	}
	relist()
	for revision < h.last() {
		revision++
		events := h.events(revision, selected, asChanges)
		if len(events) == 2 && random.IntN(3) == 0 {
			// The connection breaks between the two events of a replacement. The client gets both again, or the second one.
			seen = append(seen, events[0], action{kind: "watch", revision: revision - 1})
			events = events[random.IntN(2):]
		}
		seen = append(seen, events...)
		switch random.IntN(12) {
		case 0, 1:
			seen = append(seen, action{kind: "bookmark", revision: revision})
		case 2:
			seen = append(seen, action{kind: "watch", revision: revision})
		case 3:
			relist()
		}
	}
	return append(seen, action{kind: "bookmark", revision: revision})
}

// record gives the actions to a stream, and checks it.
func record(h *history, stream *watchcheck.Stream, actions []action) watchcheck.Report {
	for _, a := range actions {
		switch a.kind {
		case "list":
			stream.Listed(a.revision, a.objects)
		case "watch":
			stream.Began(a.revision)
		case "initial":
			stream.BeganInitial(a.revision)
		case "bookmark":
			stream.Bookmark(a.revision)
		case "end":
			stream.InitialEnd(a.revision)
		default:
			stream.Event(a.kind, a.objects[0])
		}
	}
	return stream.Check(h.truth)
}
