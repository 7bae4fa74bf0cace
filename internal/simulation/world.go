package simulation

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// World is what surrounds a system in one round: the requests that wait, and the clock.
type World struct {
	mu      sync.Mutex
	waiting []*request
	// calm says that requests do not wait any more.
	calm bool
}

// request is a request of a goroutine that waits.
type request struct {
	what    string
	proceed chan *rand.Rand
}

// Wait blocks a goroutine of the system until the scheduler lets it go on, or ctx ends. what is the request, in words that begin with a verb. The
// goroutine may draw from the random numbers until its next call of Wait, for example whether the request fails. They are nil after the
// last step of a round, when nothing fails any more.
func (w *World) Wait(ctx context.Context, what string) (*rand.Rand, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	if w.calm {
		w.mu.Unlock()
		return nil, nil
	}
	r := &request{what: what, proceed: make(chan *rand.Rand, 1)}
	w.waiting = append(w.waiting, r)
	w.mu.Unlock()
	select {
	case random := <-r.proceed:
		return random, nil
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting = slices.DeleteFunc(w.waiting, func(other *request) bool { return other == r })
		return nil, ctx.Err()
	}
}

// Proceed is a step: it lets one of the waiting requests go on.
func (w *World) Proceed(r *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return ""
	}
	// Goroutines that became ready at the same time come in any order.
	slices.SortStableFunc(w.waiting, func(a, b *request) int { return cmp.Compare(a.what, b.what) })
	i := r.IntN(len(w.waiting))
	next := w.waiting[i]
	w.waiting = slices.Delete(w.waiting, i, i+1)
	next.proceed <- r
	return next.what
}

// Clock returns an actor that lets time pass, each time for one of the durations.
func Clock(weight int, durations ...time.Duration) Actor {
	return Actor{Name: "clock", Weight: weight, Step: func(r *rand.Rand) string {
		d := durations[r.IntN(len(durations))]
		Pass(d)
		return "passes " + d.String()
	}}
}

// Pass lets time pass on the virtual clock. A system calls it that has a clock of its own as an actor.
func Pass(d time.Duration) { time.Sleep(d) }

// settle lets all requests go on, and waits until the system is at rest.
func (w *World) settle(s System) error {
	w.release()
	if s.Settled == nil {
		return nil
	}
	end := time.Now().Add(s.Rest)
	for pause := time.Millisecond; ; pause = min(2*pause, time.Minute) {
		synctest.Wait()
		err := s.Settled()
		if err == nil || !time.Now().Before(end) {
			return err
		}
		time.Sleep(pause)
	}
}

// release lets all requests go on, also those that come later.
func (w *World) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
	for _, r := range w.waiting {
		r.proceed <- nil
	}
	w.waiting = nil
}

// stop ends the goroutines of a system.
func (w *World) stop(s System) {
	if s.Stop != nil {
		s.Stop()
	}
	w.release()
	synctest.Wait()
}
