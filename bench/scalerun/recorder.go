package scalerun

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// kind is a kind of request.
type kind struct{ verb, resource string }

// series are the requests of one kind in one phase.
type series struct {
	took    histogram
	errors  int
	failure string
	objects int
}

// recorder counts requests and events of the phase that runs. Many clients use it at the same time.
type recorder struct {
	mu       sync.Mutex
	requests map[kind]*series
	lag      histogram
	events   int
}

// begin starts a phase.
func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests, r.lag, r.events = map[kind]*series{}, histogram{}, 0
}

// request counts a request. A list has a number of objects.
func (r *recorder) request(k kind, took time.Duration, objects int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.requests[k]
	if s == nil {
		s = &series{}
		r.requests[k] = s
	}
	if err != nil {
		s.errors++
		s.failure = err.Error()
		return
	}
	s.took.add(took)
	s.objects += objects
}

// event counts an event that arrived.
func (r *recorder) event() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
}

// late counts the lag of an event.
func (r *recorder) late(lag time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lag.add(max(0, lag))
}

// end writes what was counted into a phase.
func (r *recorder) end(p *Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Events, p.Lag, p.Requests = r.events, r.lag.latency(), nil
	for k, s := range r.requests {
		p.Requests = append(p.Requests, Requests{
			Verb: k.verb, Resource: k.resource, Errors: s.errors, Failure: s.failure, Objects: s.objects, Latency: s.took.latency(),
		})
	}
	slices.SortFunc(p.Requests, func(a, b Requests) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
}
