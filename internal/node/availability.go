package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/internal/broadcast"
)

const (
	// firstProbeWindow is the longest delay before the first probe. The delay is random, so
	// that not all agents that lost the same server probe it at once.
	firstProbeWindow = 5 * time.Second
	// The next probes follow after firstProbeDelay, then after twice the last delay, up to
	// lastProbeDelay. Each delay is extended by a random part of itself.
	firstProbeDelay = time.Second
	lastProbeDelay  = 4 * time.Second
)

// availability tracks whether an agent can reach its server, and decides which requests may
// be sent. During an outage, one request at a time is sent to probe the server.
type availability struct {
	tell func(line string)

	mu    sync.Mutex
	state serverState
	// generation counts the changes of state. The result of a request is ignored if the
	// state changed after the request was allowed.
	generation int
	// nextProbe is the earliest time of the next probe; probing is true while one is sent.
	nextProbe time.Time
	probing   bool
	backoff   wait.Backoff
	// since is when the outage began, and cause its first error.
	since time.Time
	cause error
	// changed wakes up the requests that wait, after each change of state.
	changed broadcast.Signal
}

// serverState is what is known about the server.
type serverState int

const (
	// reachable means that the server answers; all requests are sent.
	reachable serverState = iota
	// suspected means that a watch ended before its timeout, which may be an outage.
	// Requests that wait for the server wait for a probe; other requests are sent.
	suspected
	// unreachable means that a request did not reach the server. Only probes are sent.
	unreachable
)

// permit is the permission to send one request.
type permit struct {
	// generation is that of availability when the permission was given.
	generation int
	// isProbe is true if the request probes the server.
	isProbe bool
}

func newAvailability(tell func(line string)) *availability {
	return &availability{tell: tell}
}

// wait returns when a request may be sent. During an outage it blocks if ctx is from
// waitForServer, until the request may be sent as a probe or the outage is over. For any
// other ctx it returns an error at once, unless a probe is due.
func (a *availability) wait(ctx context.Context) (permit, error) {
	waits := waitsForServer(ctx)
	for {
		a.mu.Lock()
		due := time.Until(a.nextProbe)
		switch {
		case a.state == reachable, a.state == suspected && !waits:
			defer a.mu.Unlock()
			return permit{generation: a.generation}, nil
		case due <= 0 && !a.probing:
			defer a.mu.Unlock()
			a.probing = true
			return permit{generation: a.generation, isProbe: true}, nil
		case !waits:
			defer a.mu.Unlock()
			return permit{}, fmt.Errorf("the server is away since %s: %w", a.since.Format(time.TimeOnly), a.cause)
		}
		changed := a.changed.Next()
		if a.probing {
			due = lastProbeDelay // the result of the running probe wakes this request up
		}
		a.mu.Unlock()
		timer := time.NewTimer(due)
		select {
		case <-ctx.Done():
			timer.Stop()
			return permit{}, ctx.Err()
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// answered records that the server answered a request.
func (a *availability) answered(p permit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == reachable || p.generation != a.generation {
		return
	}
	if a.state == unreachable {
		a.tell(fmt.Sprintf("the server is back after %s", time.Since(a.since).Round(time.Second)))
	}
	a.setState(reachable)
}

// failed records that a request did not reach the server. It reports whether there is an
// outage now.
func (a *availability) failed(p permit, cause error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.generation != a.generation {
		return a.state != reachable
	}
	before, now := a.state, time.Now()
	a.setState(unreachable)
	if before != unreachable {
		a.since, a.cause = now, cause
		a.backoff = wait.Backoff{Duration: firstProbeDelay, Factor: 2, Jitter: 1, Steps: 32, Cap: lastProbeDelay}
		a.tell(fmt.Sprintf("the server is away, and volumes stay as they are: %v", cause))
	}
	switch {
	case before == reachable:
		a.nextProbe = now.Add(rand.N(firstProbeWindow))
	case p.isProbe || now.After(a.nextProbe):
		a.nextProbe = now.Add(a.backoff.Step())
	}
	return true
}

// rejected records that the server, or a proxy in front of it, rejected a request because of
// load. During an outage this counts as a failed request, and rejected returns true.
// Otherwise it has no effect.
func (a *availability) rejected(p permit, cause error) bool {
	a.mu.Lock()
	isReachable := a.state == reachable
	a.mu.Unlock()
	return !isReachable && a.failed(p, cause)
}

// release gives back the permission of a request that was canceled, so that another request
// can be the probe.
func (a *availability) release(p permit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.isProbe && p.generation == a.generation {
		a.setState(a.state)
	}
}

// suspect records that a watch ended before its timeout.
func (a *availability) suspect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state == reachable {
		a.setState(suspected)
		a.nextProbe = time.Now().Add(rand.N(firstProbeWindow))
	}
}

// setState sets the state and wakes up all requests that wait. The caller holds the lock.
func (a *availability) setState(state serverState) {
	a.state, a.probing = state, false
	a.generation++
	a.changed.Send()
}
