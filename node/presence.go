package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/broadcast"
)

const (
	// comeback is the longest delay before the first probe. The delay is random, so that
	// not all agents that lost the same server probe it at once.
	comeback = 5 * time.Second
	// The next probes follow after firstTry, then after twice the last delay, up to
	// lastTry. Each delay is extended by a random part of itself.
	firstTry = time.Second
	lastTry  = 4 * time.Second
)

// presence tracks whether an agent can reach its server, and decides which requests may
// be sent. During an outage one request at a time is sent as a probe of the server.
type presence struct {
	tell func(line string)

	mu    sync.Mutex
	state serverState
	// turns counts the changes of state. The result of a request is ignored if the state
	// changed after the request was allowed.
	turns int
	// next is the earliest time of the next probe; trying is true while a probe is sent.
	next   time.Time
	trying bool
	tries  wait.Backoff
	// since is when the outage began, and cause its first error.
	since time.Time
	cause error
	// changed is sent when any of this changes.
	changed broadcast.Signal
}

// serverState is what is known about the server.
type serverState int

const (
	// here means that the server answers; all requests are sent.
	here serverState = iota
	// inDoubt means that a watch ended before its timeout. Requests that wait for the
	// server wait for a probe; other requests are sent.
	inDoubt
	// away means that a request did not reach the server. Only probes are sent.
	away
)

// turn is the permission to send one request.
type turn struct {
	// number is the value of presence.turns when the permission was given.
	number int
	// try is true if the request is a probe.
	try bool
}

func newPresence(tell func(line string)) *presence {
	return &presence{tell: tell}
}

// wait returns when a request may be sent. During an outage it blocks if ctx is from
// waitForServer, until the request may be sent as a probe or the outage is over. For any
// other ctx it returns an error at once, unless a probe is due.
func (p *presence) wait(ctx context.Context) (turn, error) {
	patient := waitsForServer(ctx)
	for {
		p.mu.Lock()
		due := time.Until(p.next)
		switch {
		case p.state == here, p.state == inDoubt && !patient:
			defer p.mu.Unlock()
			return turn{number: p.turns}, nil
		case due <= 0 && !p.trying:
			defer p.mu.Unlock()
			p.trying = true
			return turn{number: p.turns, try: true}, nil
		case !patient:
			defer p.mu.Unlock()
			return turn{}, fmt.Errorf("the server is away since %s: %w", p.since.Format(time.TimeOnly), p.cause)
		}
		changed := p.changed.Next()
		if p.trying {
			due = lastTry // the result of the running probe wakes this request up
		}
		p.mu.Unlock()
		timer := time.NewTimer(due)
		select {
		case <-ctx.Done():
			timer.Stop()
			return turn{}, ctx.Err()
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// answered records that the server answered a request.
func (p *presence) answered(t turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == here || t.number != p.turns {
		return
	}
	if p.state == away {
		p.tell(fmt.Sprintf("the server is back after %s", time.Since(p.since).Round(time.Second)))
	}
	p.become(here)
}

// failed records that a request did not reach the server. It reports whether there is an
// outage now.
func (p *presence) failed(t turn, cause error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.number != p.turns {
		return p.state != here
	}
	before, now := p.state, time.Now()
	p.become(away)
	if before != away {
		p.since, p.cause = now, cause
		p.tries = wait.Backoff{Duration: firstTry, Factor: 2, Jitter: 1, Steps: 32, Cap: lastTry}
		p.tell(fmt.Sprintf("the server is away, and volumes stay as they are: %v", cause))
	}
	switch {
	case before == here:
		p.next = now.Add(rand.N(comeback))
	case t.try || now.After(p.next):
		p.next = now.Add(p.tries.Step())
	}
	return true
}

// refused records that the server, or a proxy in front of it, rejected a request because of
// load. During an outage this counts as a failed probe; otherwise it has no effect.
func (p *presence) refused(t turn, cause error) bool {
	p.mu.Lock()
	present := p.state == here
	p.mu.Unlock()
	return !present && p.failed(t, cause)
}

// leave releases a turn whose request was canceled, so that another request can be the
// probe.
func (p *presence) leave(t turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.try && t.number == p.turns {
		p.become(p.state)
	}
}

// doubt records that a watch ended before its timeout.
func (p *presence) doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == here {
		p.become(inDoubt)
		p.next = time.Now().Add(rand.N(comeback))
	}
}

// become sets the state and wakes up all requests that wait. The caller holds the lock.
func (p *presence) become(state serverState) {
	p.state, p.trying = state, false
	p.turns++
	p.changed.Send()
}
