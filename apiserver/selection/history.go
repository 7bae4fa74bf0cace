package selection

import (
	"slices"

	"k8s.io/apimachinery/pkg/watch"
)

// historySize is the number of entries of a kind that are kept for watches that resume.
const historySize = 1024

// entry is an event of a kind, with the nodes that it concerns.
type entry struct {
	// version is the revision of the change that caused the entry. mark is the highest
	// revision that either stream had reached by then.
	version, mark uint64
	event         watch.EventType
	object        Object
	// nodes is sorted.
	nodes []string
}

// late reports whether the other stream was ahead. A client may then have a higher revision
// from that stream, without having got this entry.
func (e *entry) late() bool { return e.version < e.mark }

// after reports whether a client that has all events up to a version may not have got the
// entry.
func (e *entry) after(version uint64) bool {
	return e.version > version || (e.late() && e.mark >= version)
}

// shared returns the event. It can be sent to any number of watches.
func (e *entry) shared() watch.Event {
	return watch.Event{Type: e.event, Object: &shared{object: e.object}}
}

// history holds the last entries of a kind, in a ring. When the ring is full, next is the
// oldest entry.
type history struct {
	// begun is set when both streams have been read once.
	begun   bool
	entries []entry
	next    int
	// horizon is the oldest version that a watch can resume from.
	horizon uint64
}

func (h *history) add(e entry) {
	if len(h.entries) < historySize {
		h.entries = append(h.entries, e)
		return
	}
	oldest := &h.entries[h.next]
	h.horizon = max(h.horizon, oldest.mark)
	if oldest.late() {
		h.horizon = max(h.horizon, oldest.mark+1)
	}
	*oldest = e
	h.next = (h.next + 1) % historySize
}

// since returns the events that a watch of a node may not have got after a version, in order.
func (h *history) since(version uint64, node string) []watch.Event {
	var events []watch.Event
	for _, part := range [][]entry{h.entries[h.next:], h.entries[:h.next]} {
		for i := range part {
			e := &part[i]
			if !e.after(version) {
				continue
			}
			if _, concerned := slices.BinarySearch(e.nodes, node); concerned {
				events = append(events, e.shared())
			}
		}
	}
	return events
}
