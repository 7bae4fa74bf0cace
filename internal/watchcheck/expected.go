package watchcheck

import "fmt"

// Types of events.
const (
	added    = "ADDED"
	modified = "MODIFIED"
	deleted  = "DELETED"
)

// expectation is an event that a stream must show.
type expectation struct {
	// write is the revision of the write, which a deletion of a replacement does not show.
	write uint64
	kind  string
	shown
	// half is 1 for the deletion and 2 for the addition of a replacement, and 0 otherwise.
	half int
}

func (e expectation) String() string {
	text := fmt.Sprintf("%s %s %d", e.kind, e.key, e.revision)
	if e.half > 0 {
		text += " of a replacement"
	}
	return text
}

// is reports whether an event is the expected one.
func (e expectation) is(r record) bool { return e.kind == r.kind && e.shown == r.object }

// expected returns the events of all writes.
func (s *Stream) expected(t *Truth) []expectation {
	var all []expectation
	for _, w := range t.writes {
		all = append(all, s.events(w)...)
	}
	return all
}

// events returns the events of a write.
func (s *Stream) events(w write) []expectation {
	before, after := s.selects(w.before), s.selects(w.after)
	at := func(revision uint64, o Object, kind string, half int) expectation {
		e := expectation{write: w.revision, kind: kind, shown: s.Form.show(o), half: half}
		e.revision = revision
		return e
	}
	switch {
	case before && after && !s.AsChanges && field(w.before, "uid") != field(w.after, "uid"):
		return []expectation{at(w.revision-1, w.before, deleted, 1), at(w.revision, w.after, added, 2)}
	case before && after:
		return []expectation{at(w.revision, w.after, modified, 0)}
	case before:
		return []expectation{at(w.revision, w.before, deleted, 0)}
	case after:
		return []expectation{at(w.revision, w.after, added, 0)}
	}
	return nil
}

// state returns the objects that a stream shows at a revision.
func (s *Stream) state(t *Truth, revision uint64) map[string]shown {
	objects := map[string]shown{}
	for _, o := range t.state(revision) {
		if s.selects(o) {
			objects[KeyOf(o)] = s.Form.show(o)
		}
	}
	return objects
}

func (s *Stream) selects(o Object) bool { return o != nil && (s.Selects == nil || s.Selects(o)) }
