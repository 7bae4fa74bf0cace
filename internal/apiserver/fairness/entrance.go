package fairness

import (
	"context"
	"sync"
)

// maxEntering is the number of requests of one connection that the server authenticates, audits
// and classifies at a time. This takes a fraction of a millisecond of processor time for each
// request, so further requests of the connection gain nothing from an earlier begin. They would only
// take the processor from other connections.
const maxEntering = 8

// entrance limits the requests that have arrived and have not reached the priority levels. It has
// maxEntering places for each connection. Further requests of the connection wait in the order of
// their arrival.
type entrance struct {
	mu sync.Mutex
	// lanes has the connections with requests in the entrance, by remote address.
	lanes map[string]*lane
}

// lane has the requests of one connection.
type lane struct {
	places chan struct{}
	// requests is the number of requests that have a place or wait for one.
	requests int
}

func newEntrance() *entrance { return &entrance{lanes: map[string]*lane{}} }

// enter waits for a place, and returns the function that gives it back. It returns false if ctx
// ends before.
func (e *entrance) enter(ctx context.Context, connection string) (leave func(), ok bool) {
	l := e.join(connection)
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		e.part(connection)
		return nil, false
	}
	leave = sync.OnceFunc(func() {
		<-l.places
		e.part(connection)
	})
	if ctx.Err() != nil {
		leave()
		return nil, false
	}
	return leave, true
}

// join adds a request to the lane of its connection.
func (e *entrance) join(connection string) *lane {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lanes[connection]
	if l == nil {
		l = &lane{places: make(chan struct{}, maxEntering)}
		e.lanes[connection] = l
	}
	l.requests++
	return l
}

// part removes a request from the lane of its connection.
func (e *entrance) part(connection string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lanes[connection]
	if l.requests--; l.requests == 0 {
		delete(e.lanes, connection)
	}
}
