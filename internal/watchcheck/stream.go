package watchcheck

import "fmt"

// Stream records what the lists and watches of one client showed, in their order.
type Stream struct {
	Name string
	Form Form
	// Selects reports whether the stream shows an object. nil selects all.
	Selects func(Object) bool
	// AsChanges says that the stream shows the replacement of an object as a change, see package replacement.
	AsChanges bool

	records []record
}

// record is one step of a stream.
type record struct {
	step     step
	revision uint64
	// kind is the type of an event.
	kind   string
	object shown
	// objects are those of a list.
	objects []shown
}

type step int

const (
	listed step = iota
	began
	beganInitial
	event
	bookmark
	initialEnd
)

// Listed records a list.
func (s *Stream) Listed(revision uint64, objects []Object) {
	r := record{step: listed, revision: revision}
	for _, object := range objects {
		r.objects = append(r.objects, s.Form.show(object))
	}
	s.records = append(s.records, r)
}

// Began records that a watch begins, with the events after a revision.
func (s *Stream) Began(revision uint64) {
	s.records = append(s.records, record{step: began, revision: revision})
}

// BeganInitial records that a watch begins with initial events (sendInitialEvents), at a revision that is not lower.
func (s *Stream) BeganInitial(revision uint64) {
	s.records = append(s.records, record{step: beganInitial, revision: revision})
}

// Event records an event: ADDED, MODIFIED or DELETED.
func (s *Stream) Event(kind string, object Object) {
	got := s.Form.show(object)
	s.records = append(s.records, record{step: event, revision: got.revision, kind: kind, object: got})
}

// Bookmark records a bookmark.
func (s *Stream) Bookmark(revision uint64) {
	s.records = append(s.records, record{step: bookmark, revision: revision})
}

// InitialEnd records the bookmark after the initial events.
func (s *Stream) InitialEnd(revision uint64) {
	s.records = append(s.records, record{step: initialEnd, revision: revision})
}

// Revisions returns the revisions at which a client can resume: those of all lists, events and bookmarks.
func (s *Stream) Revisions() []uint64 {
	var all []uint64
	for _, r := range s.records {
		if r.step != began && r.step != beganInitial {
			all = append(all, r.revision)
		}
	}
	return all
}

func (r record) String() string {
	switch r.step {
	case listed:
		return fmt.Sprintf("list of %d objects at %d", len(r.objects), r.revision)
	case began:
		return fmt.Sprintf("watch begins at %d", r.revision)
	case beganInitial:
		return fmt.Sprintf("watch with initial events begins at %d", r.revision)
	case bookmark:
		return fmt.Sprintf("bookmark %d", r.revision)
	case initialEnd:
		return fmt.Sprintf("bookmark %d after the initial events", r.revision)
	}
	return fmt.Sprintf("%s %s %d", r.kind, r.object.key, r.revision)
}
