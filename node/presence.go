package node

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// comeback is the time over which agents are spread that lose their server at
	// the same moment.
	comeback = 5 * time.Second
	// A server that is away is tried again after firstTry, then after twice as
	// long each time, and up to as long again by chance.
	firstTry = time.Second
	lastTry  = 4 * time.Second
)

// presence is what an agent knows of its server being there.
type presence struct {
	tell func(line string)

	mu    sync.Mutex
	state serverState
	// turns counts the states there have been, so that what began in one says
	// nothing about another.
	turns int
	// next is when the server may be tried; trying says that somebody does.
	next   time.Time
	trying bool
	tries  wait.Backoff
	// since is when the server was found away, and cause why.
	since time.Time
	cause error
	// changed is closed when any of this changes.
	changed chan struct{}
}

type serverState int

const (
	// here: requests are made.
	here serverState = iota
	// inDoubt: a watch was broken off, and nobody knows more.
	inDoubt
	// away: a request did not get there.
	away
)

// turn is a leave to make a request.
type turn struct {
	number int
	// try says that all others wait for this one.
	try bool
}

func newPresence(tell func(line string)) *presence {
	return &presence{tell: tell, changed: make(chan struct{})}
}

// wait returns when a request may be made, at once for one that is not patient:
// then an error says that the server is away.
func (p *presence) wait(ctx context.Context) (turn, error) {
	patient := isPatient(ctx)
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
		changed := p.changed
		if p.trying {
			due = lastTry // whoever tries says how it went
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

// answered says that the server is there.
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

// failed says that a request did not get to the server. It reports whether the
// server is taken for absent.
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

// refused says that the server, or what stands before it, wants to be left
// alone. That matters only as long as it is not known to be back.
func (p *presence) refused(t turn, cause error) bool {
	p.mu.Lock()
	present := p.state == here
	p.mu.Unlock()
	return !present && p.failed(t, cause)
}

// leave gives a turn back that came to nothing.
func (p *presence) leave(t turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.try && t.number == p.turns {
		p.become(p.state)
	}
}

// doubt says that the server broke something off.
func (p *presence) doubt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == here {
		p.become(inDoubt)
		p.next = time.Now().Add(rand.N(comeback))
	}
}

// become begins a state, and has everybody who waits look at it. The caller has
// the lock.
func (p *presence) become(state serverState) {
	p.state, p.trying = state, false
	p.turns++
	close(p.changed)
	p.changed = make(chan struct{})
}
