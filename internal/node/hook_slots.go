package node

import (
	"context"
	"slices"
	"sync"
)

const (
	// runsPerHook is how many runs of one executable may run at the same time. A hook
	// that hangs leaves the other slots of the queue to other hooks.
	runsPerHook = 4
	// runsPerHookAndNamespace is how many of these may be for the pods of one namespace.
	runsPerHookAndNamespace = 2
)

// hookUse is an executable and the namespace of the pod that names it.
type hookUse struct {
	hook, namespace string
}

// hookSlots limits the hooks that run at the same time. A namespace with many waiting hooks
// does not hold up the hooks of others: the last free slot is for a namespace that runs
// no hook, and of the runs that wait, those of the namespace with the fewest runs begin first.
type hookSlots struct {
	limit int

	mu      sync.Mutex
	running []hookUse
	waiting []*hookTicket
}

// hookTicket is a run that waits for a slot.
type hookTicket struct {
	hookUse
	granted chan struct{}
}

// acquire waits for a slot. The caller must call release when the run has ended.
func (s *hookSlots) acquire(ctx context.Context, use hookUse) (release func(), err error) {
	ticket := &hookTicket{hookUse: use, granted: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, ticket)
	s.grant()
	s.mu.Unlock()
	select {
	case <-ticket.granted:
		return func() { s.release(use) }, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	at := slices.Index(s.waiting, ticket)
	if at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 {
		s.release(use) // the slot was granted in the same moment
	}
	return nil, ctx.Err()
}

func (s *hookSlots) release(use hookUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.running, use)
	s.running = slices.Delete(s.running, at, at+1)
	s.grant()
}

// grant gives the free slots to the runs that wait. The caller holds the lock.
func (s *hookSlots) grant() {
	for {
		best, fewest := -1, 0
		for i, ticket := range s.waiting {
			runs := s.count(func(use hookUse) bool { return use.namespace == ticket.namespace })
			if (best < 0 || runs < fewest) && s.fits(ticket.hookUse, runs) {
				best, fewest = i, runs
			}
		}
		if best < 0 {
			return
		}
		ticket := s.waiting[best]
		s.waiting = slices.Delete(s.waiting, best, best+1)
		s.running = append(s.running, ticket.hookUse)
		close(ticket.granted)
	}
}

// fits reports whether a run may begin. inNamespace is the number of runs of its namespace.
func (s *hookSlots) fits(use hookUse, inNamespace int) bool {
	free := s.limit - len(s.running)
	switch {
	case free <= 0, free == 1 && inNamespace > 0:
		return false
	case s.count(func(other hookUse) bool { return other == use }) >= runsPerHookAndNamespace:
		return false
	}
	return s.count(func(other hookUse) bool { return other.hook == use.hook }) < runsPerHook
}

func (s *hookSlots) count(matches func(hookUse) bool) int {
	count := 0
	for _, use := range s.running {
		if matches(use) {
			count++
		}
	}
	return count
}
