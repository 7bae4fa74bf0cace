package lifecycle

import (
	"sync"
	"time"
)

// sightings remembers since when this process has seen each value. It measures with the monotonic
// clock, so its ages stay right when the clock of the machine is set. The zero value is empty. It
// is safe for concurrent use.
type sightings struct {
	mu     sync.Mutex
	byName map[string]sighting
}

// sighting is a value, and when it was first seen.
type sighting struct {
	value string
	since time.Time
}

// age returns for how long the name has had the value, as far as this process has seen. It is zero
// for a value that was not there at the last call.
func (s *sightings) age(name, value string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.byName[name]
	if known && last.value == value {
		return time.Since(last.since)
	}
	if s.byName == nil {
		s.byName = map[string]sighting{}
	}
	s.byName[name] = sighting{value, time.Now()}
	return 0
}

// forget forgets a name.
func (s *sightings) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
}
