package scalerun

import (
	"strconv"
	"sync"
	"time"
)

// kept is the number of changes for which the run remembers when they were written. The lag of an event is not measured if so many later changes were
// written before it arrives.
const kept = 1 << 16

// mark is one change. The answer to the request and the events of the watches arrive in any order.
type mark struct {
	revision uint64
	// sent is when the request was sent. It is zero until the answer says which revision the request made.
	sent time.Time
	// early is when the events arrived that came before the answer.
	early []time.Time
}

// lags measures how late the events of watches are.
type lags struct {
	mu    sync.Mutex
	marks []mark
	// found gets each lag.
	found func(time.Duration)
}

func newLags(found func(time.Duration)) *lags { return &lags{marks: make([]mark, kept), found: found} }

// slot returns the mark of a revision, or nil if a later change has its place.
func (l *lags) slot(revision string) *mark {
	number, err := strconv.ParseUint(revision, 10, 64)
	if err != nil {
		return nil
	}
	m := &l.marks[number%kept]
	if m.revision < number {
		*m = mark{revision: number}
	}
	if m.revision != number {
		return nil
	}
	return m
}

// wrote says which revision a request has made.
func (l *lags) wrote(revision string, sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.slot(revision)
	// A request that changed nothing returns the revision of an earlier one.
	if m == nil || !m.sent.IsZero() {
		return
	}
	m.sent = sent
	for _, at := range m.early {
		l.found(at.Sub(sent))
	}
	m.early = nil
}

// arrived says when an event of a revision arrived.
func (l *lags) arrived(revision string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.slot(revision)
	switch {
	case m == nil:
	case m.sent.IsZero():
		m.early = append(m.early, at)
	default:
		l.found(at.Sub(m.sent))
	}
}
