package scalerun

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// tally counts the pods by the events of a watch.
type tally struct {
	mu sync.Mutex
	// pods has an entry for each pod, which says whether it runs. fresh has those of a watch that began again with all objects.
	pods, fresh map[string]bool
	running     int
}

func newTally() *tally { return &tally{pods: map[string]bool{}} }

// see counts an event.
func (t *tally) see(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.initial && e.complete:
		t.replace()
	case e.kind == "BOOKMARK":
	case e.initial:
		if t.fresh == nil {
			t.fresh = map[string]bool{}
		}
		t.fresh[e.key()] = e.running
	case e.kind == "DELETED":
		t.set(e.key(), false)
		delete(t.pods, e.key())
	default:
		t.set(e.key(), e.running)
	}
}

// replace takes the pods of a watch that began again.
func (t *tally) replace() {
	t.pods, t.fresh, t.running = t.fresh, nil, 0
	if t.pods == nil {
		t.pods = map[string]bool{}
	}
	for _, runs := range t.pods {
		if runs {
			t.running++
		}
	}
}

func (t *tally) set(key string, runs bool) {
	if t.pods[key] {
		t.running--
	}
	if runs {
		t.running++
	}
	t.pods[key] = runs
}

// count returns the number of pods, and of those that run.
func (t *tally) count() (pods, running int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pods), t.running
}

// await waits until there are a number of pods and all of them run.
func (t *tally) await(ctx context.Context, want int) error {
	for {
		pods, running := t.count()
		if pods == want && running == want {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d pods exist, and %d run: %w", pods, want, running, err)
		}
	}
}
