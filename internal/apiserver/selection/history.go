package selection

import (
	"slices"

	"k8s.io/apimachinery/pkg/watch"
)

// historySize is the number of entries of a kind that are kept for watches that resume.
const historySize = 1024

// historyBytes is the size of the objects in these entries, as stored. It bounds the memory if the objects
// are large.
const historyBytes = 32 << 20

// entry is an event of a kind, with the nodes that it concerns.
type entry struct {
	cause
	// mark is the highest revision that either stream had reached by then.
	mark   uint64
	event  watch.EventType
	object Object
	// nodes is sorted.
	nodes []string
}

// cause is what caused an entry.
type cause struct {
	// version is the revision of the change, or of the list that has shown the change.
	version uint64
	// listed says that a list has shown the change.
	listed bool
}

// late reports whether a client may have the revision of the entry, or a higher one, without
// having got this entry: the other stream was ahead, or there are further entries from the same
// list, with the same revision.
func (e *entry) late() bool { return e.version < e.mark || e.listed }

// after reports whether a client that has all events up to a version may not have got the
// entry.
func (e *entry) after(version uint64) bool {
	return e.version > version || (e.late() && e.mark >= version)
}

// size returns the size of the object as stored. The kinds that nodes use have the method.
func (e *entry) size() int {
	if sized, ok := e.object.(interface{ Size() int }); ok {
		return sized.Size()
	}
	return 0
}

// shared returns the event. It can be sent to any number of watches.
func (e *entry) shared() watch.Event {
	return watch.Event{Type: e.event, Object: &shared{object: e.object}}
}

// history holds the last entries of a kind, in order.
type history struct {
	// begun is set when both streams have been read once.
	begun   bool
	entries []entry
	// bytes is the size of the objects in entries.
	bytes int
	// horizon is the oldest version that a watch can resume from.
	horizon uint64
}

func (h *history) add(e entry) {
	h.entries = append(h.entries, e)
	h.bytes += e.size()
	for len(h.entries) > historySize || h.bytes > historyBytes {
		h.forget()
	}
}

// forget removes the oldest entry.
func (h *history) forget() {
	oldest := h.entries[0]
	h.horizon = max(h.horizon, oldest.mark)
	if oldest.late() {
		h.horizon = max(h.horizon, oldest.mark+1)
	}
	h.bytes -= oldest.size()
	// The array keeps the place until it is full and append copies the rest.
	h.entries[0] = entry{}
	h.entries = h.entries[1:]
}

// since returns the events that a watch of a node may not have got after a version, in order. Behind the first of them it leaves out none: if a
// client gets an old state of an object again, it also gets the newer ones again.
func (h *history) since(version uint64, node string) []watch.Event {
	first := 0
	for first < len(h.entries) && !h.entries[first].after(version) {
		first++
	}
	var events []watch.Event
	for i := first; i < len(h.entries); i++ {
		e := &h.entries[i]
		if _, concerned := slices.BinarySearch(e.nodes, node); concerned {
			events = append(events, e.shared())
		}
	}
	return events
}
