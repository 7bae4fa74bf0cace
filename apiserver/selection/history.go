package selection

import (
	"slices"

	"k8s.io/apimachinery/pkg/watch"
)

// historySize is how many entries of a kind are kept for watches that resume.
const historySize = 1024

// entry is an event of a kind, for the nodes whose selection it is about.
type entry struct {
	// version is the revision of the change that caused it, mark the highest
	// that was known of either stream by then.
	version, mark uint64
	event         watch.EventType
	object        Object
	nodes         []string
}

// late reports whether the other stream was ahead. A client may have a version
// from that one, and not have seen this.
func (e *entry) late() bool { return e.version < e.mark }

// after reports whether who has seen everything up to a version may not have
// seen the entry.
func (e *entry) after(version uint64) bool {
	return e.version > version || (e.late() && e.mark >= version)
}

// shared is the event to send to any number of watches.
func (e *entry) shared() watch.Event {
	return watch.Event{Type: e.event, Object: &shared{object: e.object}}
}

// history is the last entries of a kind, the oldest first from next on once it
// is full.
type history struct {
	begun   bool
	entries []entry
	next    int
	// horizon is the oldest version from which all entries that follow are known.
	horizon uint64
}

func (h *history) add(e entry) {
	if len(h.entries) < historySize {
		h.entries = append(h.entries, e)
		return
	}
	gone := &h.entries[h.next]
	h.horizon = max(h.horizon, gone.mark)
	if gone.late() {
		h.horizon = max(h.horizon, gone.mark+1)
	}
	*gone = e
	h.next = (h.next + 1) % historySize
}

// since returns what a node may not have seen after a version, in order.
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
