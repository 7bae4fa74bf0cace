package watchcheck

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// traced is the number of steps in the trace of a violation.
const traced = 8

// Check compares a stream with the truth. Beyond the last step of the stream nothing is expected: a caller that wants the stream to reach
// a revision waits for an event of this revision first.
func (s *Stream) Check(t *Truth) Report {
	c := &checker{stream: s, truth: t, expected: s.expected(t), missed: map[int]Rule{}}
	for i, r := range s.records {
		c.at = i
		c.take(r)
	}
	c.settle()
	return c.report
}

// checker walks through the steps of a stream.
type checker struct {
	stream   *Stream
	truth    *Truth
	expected []expectation
	report   Report
	// at is the index of the current step.
	at int
	// first is the first event that the watch must show, next the one that must come now, and shown is one behind the last event
	// that any watch of the stream has shown.
	first, next, shown int
	// position is the revision of the last list, event or bookmark.
	position uint64
	// missed are the events that a later one has overtaken, with the rule that is broken if they do not come at all.
	missed map[int]Rule
	// initial are the events of a watch before the end of its initial events. It is nil for other watches.
	initial *[]record
	// requested is the revision at which a watch with initial events began.
	requested uint64
	index     map[string]int
}

func (c *checker) take(r record) {
	switch r.step {
	case listed:
		c.list(r)
	case began, beganInitial:
		c.report.Watches++
		c.begin(r.revision)
		c.requested = r.revision
		if r.step == beganInitial {
			c.initial = &[]record{}
		}
	case initialEnd:
		c.endInitial(r)
	case bookmark:
		if c.initial == nil {
			c.bookmark(r)
		}
	case event:
		if c.initial != nil {
			*c.initial = append(*c.initial, r)
			return
		}
		c.event(r)
	}
}

// begin goes on behind a revision.
func (c *checker) begin(revision uint64) {
	c.settle()
	c.first, c.next, c.position, c.initial = c.after(revision), c.after(revision), revision, nil
}

// after returns the index of the first event of a write after a revision.
func (c *checker) after(revision uint64) int {
	return sort.Search(len(c.expected), func(i int) bool { return c.expected[i].write > revision })
}

// settle reports the events that a watch has not shown.
func (c *checker) settle() {
	for _, i := range slices.Sorted(maps.Keys(c.missed)) {
		c.violate(c.missed[i], "no event %s", c.expected[i])
	}
	clear(c.missed)
}

// miss says that an event has not come although a later step has.
func (c *checker) miss(until int, rule Rule) {
	for ; c.next < until; c.next++ {
		if c.next == c.first && rule == Reliable {
			c.missed[c.next] = Resumable
			continue
		}
		c.missed[c.next] = rule
	}
}

func (c *checker) bookmark(r record) {
	c.report.Bookmarks++
	switch {
	case r.revision < c.position:
		c.violate(Bookmarkable, "%s comes after revision %d", r, c.position)
		return
	case c.betweenHalves():
		c.violate(Bookmarkable, "%s comes between the two events of a replacement", r)
	case r.revision > c.truth.end:
		c.violate(Bookmarkable, "%s is newer than the store, which is at %d", r, c.truth.end)
	}
	c.miss(c.after(r.revision), Bookmarkable)
	c.position = r.revision
}

// betweenHalves reports whether the watch has just shown the first of the two events of a replacement.
func (c *checker) betweenHalves() bool {
	return c.next > c.first && c.next < len(c.expected) && c.expected[c.next].half == 2
}

// event compares an event with the one that must come now.
func (c *checker) event(r record) {
	c.report.Events++
	defer func() { c.position, c.shown = max(c.position, r.revision), max(c.shown, c.next) }()
	if c.next < len(c.expected) && c.expected[c.next].is(r) {
		if c.next < c.shown {
			c.report.Replays++
		}
		c.next++
		return
	}
	if r.revision <= c.truth.start {
		c.report.Unknown++
		return
	}
	found, ok := c.find(r)
	switch {
	case !ok:
		c.wrong(r)
	case c.missed[found] == Bookmarkable:
		delete(c.missed, found)
		c.violate(Bookmarkable, "%s comes after a bookmark of its revision or a later one", r)
	case c.missed[found] != "":
		delete(c.missed, found)
		c.violate(Ordered, "%s comes late", r)
	case found < c.first:
		c.violate(Resumable, "%s comes although the watch began at %d", r, c.requested)
	case found < c.next:
		c.violate(Unique, "%s comes twice", r)
	case c.onlySecondHalf(found):
		c.report.Replays++
		c.next = found + 1
	default:
		c.miss(found, Reliable)
		c.next = found + 1
	}
}

// onlySecondHalf reports whether the watch resumed between the two events of a replacement, and shows only the second one.
func (c *checker) onlySecondHalf(found int) bool {
	e := c.expected[found]
	return e.half == 2 && found == c.first+1 && c.next == c.first && c.shown > c.first && c.requested == e.write-1
}

// find returns the index of an expected event.
func (c *checker) find(r record) (int, bool) {
	key := func(kind string, object shown) string {
		return fmt.Sprintf("%s %s %d %s", kind, object.key, object.revision, object.text.Value())
	}
	if c.index == nil {
		c.index = map[string]int{}
		for i, e := range c.expected {
			c.index[key(e.kind, e.shown)] = i
		}
	}
	i, ok := c.index[key(r.kind, r.object)]
	return i, ok
}

// wrong reports an event that no write explains.
func (c *checker) wrong(r record) {
	for i, e := range c.expected {
		if e.key != r.object.key || e.revision != r.revision || e.half == 1 && r.kind != deleted {
			continue
		}
		switch {
		case e.kind == r.kind && r.kind == deleted:
			c.violate(Previous, "%s has the object\n    %s\n  and not\n    %s", r, r.object.text.Value(), e.text.Value())
		case e.kind != r.kind && c.stream.Selects != nil:
			c.violate(Filtered, "%s comes instead of %s", r, e)
		case e.kind != r.kind:
			c.violate(Content, "%s comes instead of %s", r, e)
		default:
			c.violate(Content, "%s has the object\n    %s\n  and not\n    %s", r, r.object.text.Value(), e.text.Value())
		}
		delete(c.missed, i)
		if i >= c.next {
			c.miss(i, Reliable)
			c.next = i + 1
		}
		return
	}
	for _, w := range c.truth.writes {
		if w.revision == r.revision && w.key == r.object.key {
			c.violate(Filtered, "%s: the selector does not match the object, neither before nor after the write", r)
			return
		}
	}
	c.violate(Reliable, "%s: there is no such write", r)
}

func (c *checker) violate(rule Rule, format string, args ...any) {
	v := Violation{Rule: rule, Text: c.stream.Name + ": " + fmt.Sprintf(format, args...)}
	for _, r := range c.stream.records[max(0, c.at+1-traced) : c.at+1] {
		v.Trace = append(v.Trace, r.String())
	}
	c.report.Violations = append(c.report.Violations, v)
}
