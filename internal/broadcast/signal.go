// Package broadcast wakes all goroutines that wait for the same event.
//
// The waiting side takes a channel, looks at the state that it waits for, and then
// waits on the channel. The side that changes the state calls Send afterwards:
//
//	var changed broadcast.Signal
//
//	for {
//		next := changed.Next()
//		if ready() {
//			return
//		}
//		<-next
//	}
//
// A goroutine that takes the channel before it looks at the state cannot miss a
// change: a Send between the two closes the channel that it already has.
package broadcast

import "sync"

// Signal is an event that happens again and again. The zero value is ready to use.
// It must not be copied. All methods may be called concurrently.
type Signal struct {
	mu   sync.Mutex
	next chan struct{}
}

// Next returns a channel that the next Send closes.
func (s *Signal) Next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// Send closes the channel that Next returned since the last Send. It never blocks.
func (s *Signal) Send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}
