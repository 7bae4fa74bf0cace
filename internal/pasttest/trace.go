package pasttest

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// trace records what happens in one run.
type trace struct {
	start time.Time

	mu     sync.Mutex
	lines  []line
	counts map[string]int
	// busy are the resources of which the controller saw an event, or wrote an object. The trace leaves out the reads of others.
	busy map[string]bool
}

// line is one line of a trace. It has a resource if the line is a read that may be left out.
type line struct{ text, resource string }

func newTrace() *trace {
	return &trace{start: time.Now(), counts: map[string]int{}, busy: map[string]bool{}}
}

// add adds a line, and counts it under its name.
func (r *trace) add(name, format string, args ...any) { r.addRead("", name, format, args...) }

// addRead is add for a line that is left out unless there are events or writes of the resource.
func (r *trace) addRead(resource, name, format string, args ...any) {
	text := fmt.Sprintf("%7.3f %-9s %s", time.Since(r.start).Seconds(), name, fmt.Sprintf(format, args...))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[name]++
	r.lines = append(r.lines, line{text, resource})
}

// setBusy says that the controller sees or writes objects of the resource.
func (r *trace) setBusy(resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[resource] = true
}

// count returns the number of lines with a name.
func (r *trace) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[name]
}

func (r *trace) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, line := range r.lines {
		if line.resource == "" || r.busy[line.resource] {
			text.WriteString(line.text + "\n")
		}
	}
	return text.String()
}

// addTo adds the counts to others.
func (r *trace) addTo(sums map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, n := range r.counts {
		sums[name] += n
	}
}
