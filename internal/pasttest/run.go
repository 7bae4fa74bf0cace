package pasttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

// maxPause is the longest time between two steps in which the controller can work.
const maxPause = 150 * time.Millisecond

// Run plays the scenario without faults, and then with each kind of fault, or as long as HOLDFAST_SOAK says. The short form has two runs.
func Run(t *testing.T, s Scenario) {
	t.Helper()
	seed, limit := newSeed(t), soakTime(t)
	var writes int
	if !t.Run(none, func(t *testing.T) { writes = s.play(t, "past", faults{perturbation: none}).count("write") }) {
		return
	}
	begin, rounds, sums := time.Now(), map[string]int{}, map[string]int{}
	for round := 0; round < shortRounds || time.Since(begin) < limit; round++ {
		f := newFaults(seed, round, writes)
		if !t.Run(f.String(), func(t *testing.T) { s.play(t, fmt.Sprintf("past%d", round), f).addTo(sums) }) {
			return
		}
		rounds[f.perturbation]++
	}
	t.Logf("%d writes without faults; rounds: %s; %s; in %s", writes, listed(rounds), listed(sums), time.Since(begin).Round(time.Second))
}

// shortRounds is the number of rounds of the short form.
const shortRounds = 2

// listed returns the entries of a map in order.
func listed(counts map[string]int) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// newSeed returns the seed of HOLDFAST_SEED, or a new one in the long form, and prints it. The short form always has the same.
func newSeed(t *testing.T) int64 {
	t.Helper()
	seed := int64(1)
	if os.Getenv("HOLDFAST_SOAK") != "" {
		seed = time.Now().UnixNano()
	}
	if text := os.Getenv("HOLDFAST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatalf("HOLDFAST_SEED: %v", err)
		}
	}
	t.Logf("seed %d: repeat with HOLDFAST_SEED=%d and -run '^%s$'", seed, seed, t.Name())
	return seed
}

// soakTime returns the duration in HOLDFAST_SOAK, or zero.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HOLDFAST_SOAK")
	if text == "" {
		return 0
	}
	limit, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("HOLDFAST_SOAK: %v", err)
	}
	return limit
}

// play plays the script once, and checks how it ends.
func (s Scenario) play(t *testing.T, run string, f faults) *trace {
	t.Helper()
	p := newProxy(f, run)
	p.mayDelete = s.MayDelete
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", f, p.trace)
		}
	})
	script := s.Script(t, run)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.supervise(ctx, p) }()
	defer func() {
		p.finish()
		cancel()
		if err := waittest.Receive(t, "the end of the controller", ended); err != nil {
			t.Error(err)
		}
	}()
	revisions := newRevisions(t, cmp.Or(s.Users, s.Client))
	for i, step := range script.Steps {
		p.setStep(i+1, revisions.now(t))
		if i > 0 && p.faults.any(old) && p.faults.chance(40, "restart", i) {
			p.kill("between two steps")
		}
		p.do(t, step)
		p.pause(i + 1)
	}
	p.release()
	p.finish()
	reach := func() error { return script.reached(t.Context()) }
	waittest.Until(t, "the state at the end", reach)
	for _, step := range script.Last {
		p.do(t, step)
	}
	if err := reach(); err != nil {
		t.Errorf("the state did not last: %v", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, violation := range p.violations {
		t.Error(violation)
	}
	return p.trace
}

// supervise runs the controller, and starts it again when it was killed, until ctx ends.
func (s Scenario) supervise(ctx context.Context, p *proxy) error {
	for ctx.Err() == nil {
		life := p.start()
		living, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Controller(living, life.config(s.Client))
		}()
		select {
		case <-life.dead:
		case <-ctx.Done():
			p.kill("the end of the run")
		case <-ended:
			if !life.isDead() && ctx.Err() == nil {
				cancel()
				return errors.New("the controller ended by itself")
			}
		}
		cancel()
		<-ended
	}
	return nil
}

// do takes a step.
func (p *proxy) do(t *testing.T, step Step) {
	t.Helper()
	p.trace.add("user", "%s", step.Name)
	if step.Write != nil {
		if err := step.Write(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.Name, err)
		}
	}
	if step.Wait != nil && step.Wait(t.Context()) != nil {
		p.release()
		waittest.Until(t, step.Name, func() error { return step.Wait(t.Context()) })
	}
}

// pause gives the controller some time to work on what it sees, by the seed. No check depends on it: it only makes more orders of events
// likely.
func (p *proxy) pause(step int) {
	if p.faults.is(none) || p.faults.chance(30, "no pause", step) {
		return
	}
	<-time.After(time.Duration(p.faults.number(uint64(maxPause), "pause", step)))
}

// reached returns an error if the state is not as wanted.
func (s Script) reached(ctx context.Context) error {
	state, err := s.State(ctx)
	if err == nil && state != s.Want {
		err = fmt.Errorf("got\n%s\nwant\n%s", state, s.Want)
	}
	return err
}

// revisions reads the revision of the store.
type revisions struct{ client metadata.Interface }

func newRevisions(t *testing.T, config *rest.Config) revisions {
	t.Helper()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return revisions{client}
}

// now returns the revision of the store.
func (r revisions) now(t *testing.T) string {
	t.Helper()
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	list, err := r.client.Resource(namespaces).List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	return list.ResourceVersion
}
