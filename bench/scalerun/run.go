package scalerun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// The names of the phases, in their order.
const (
	Rest    = "at rest"
	Join    = "the nodes join"
	Start   = "the pods start"
	Steady  = "nothing changes"
	Replace = "pods are replaced"
	Restart = "the server is killed"
	Lose    = "nodes are lost"
)

// Options are what a run needs beside its settings.
type Options struct {
	Side side.Side
	// Dir is the directory below which the server stores its data.
	Dir string
	// Collected says that a controller of the server deletes the pods of nodes that do not exist.
	Collected bool
	// Progress gets a line about each phase.
	Progress func(string)
}

// Run runs the phases on a new server. With an error, the result has the phases so far. Everything that it starts ends before it
// returns, also when the context ends.
func Run(ctx context.Context, o Options, s Settings) (*Side, error) {
	measured := &Side{Name: o.Side.Name}
	server, err := o.Side.Start(o.Dir)
	if err != nil {
		return measured, err
	}
	defer server.Stop()
	if measured.Version, err = server.Version(ctx); err != nil {
		return measured, err
	}
	f, err := newFleet(ctx, server, s)
	if err != nil {
		return measured, err
	}
	defer f.stop()
	f.group.Go(func() { f.watchMemory(f.ctx) })
	if err := f.admin.Await(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default"}); err != nil {
		return measured, err
	}
	if err := f.prepare(f.ctx); err != nil {
		return measured, f.cause(err)
	}
	for _, one := range f.phases(o.Collected) {
		p, err := f.measure(f.ctx, one.name, one.run)
		if p != nil {
			measured.Phases = append(measured.Phases, p)
			o.Progress(fmt.Sprintf("%s: %s: %s", measured.Name, p.Name, p.summary()))
		}
		measured.Pods = len(f.placed)
		if err = f.cause(err); err != nil {
			measured.Note = strings.TrimSpace(fmt.Sprintf("%s The run ended in the phase %q: %v.", measured.Note, one.name, err))
			return measured, fmt.Errorf("%s: %s: %w", measured.Name, one.name, err)
		}
		if one.name == Start && len(f.placed) < s.Pods {
			measured.Note = fmt.Sprintf("The machine had less than %d MB left after %d of %d pods.", s.Spare, len(f.placed), s.Pods)
			o.Progress(measured.Name + ": " + measured.Note)
		}
		if one.name == Start && len(f.placed) == 0 {
			return measured, errors.New("the machine has no memory for pods")
		}
	}
	return measured, nil
}

// cause returns the reason for an error of a client: the server may have been ended for lack of memory.
func (f *fleet) cause(err error) error {
	if f.ended.Load() {
		return fmt.Errorf("the machine had less than %d MB left, and the run ended the server", f.settings.Spare/4)
	}
	return err
}

// phase is a part of the run.
type phase struct {
	name string
	run  func(ctx context.Context, p *Phase) error
}

func (f *fleet) phases(collected bool) []phase {
	simply := func(run func(context.Context) error) func(context.Context, *Phase) error {
		return func(ctx context.Context, _ *Phase) error { return run(ctx) }
	}
	return []phase{
		{Rest, func(ctx context.Context, _ *Phase) error { return pause(ctx, f.settings.Settle) }},
		{Join, simply(func(ctx context.Context) error {
			if err := f.read(); err != nil {
				return err
			}
			return f.join(ctx)
		})},
		{Start, simply(f.startPods)},
		{Steady, f.probed(func(ctx context.Context, _ *Phase) error { return pause(ctx, f.settings.Steady) })},
		{Replace, f.probed(simply(f.replacePods))},
		{Restart, f.killServer},
		{Lose, simply(func(ctx context.Context) error { return f.loseNodes(ctx, collected) })},
	}
}

// probed runs a phase during which a client reads objects.
func (f *fleet) probed(run func(context.Context, *Phase) error) func(context.Context, *Phase) error {
	return func(ctx context.Context, p *Phase) error {
		probing, stop := context.WithCancel(ctx)
		done, placed := make(chan struct{}), append([]placedPod(nil), f.placed[min(f.settings.Replaced, len(f.placed)-1):]...)
		go func() {
			defer close(done)
			f.probe(probing, placed)
		}()
		err := run(ctx, p)
		stop()
		<-done
		return err
	}
}

// killServer kills the server, starts it again, and waits until all watches are open again and all pods are there.
func (f *fleet) killServer(ctx context.Context, p *Phase) error {
	open, began := f.watches.Load(), time.Now()
	if err := f.server.KillAndStart(); err != nil {
		return err
	}
	ready := time.Since(began)
	// The clients notice the end of their connections before they count their watches as closed. A watch that continues counts as open until
	// the server says that it no longer has its revision, so all of them must be open for a while.
	var back time.Duration
	for range 2 {
		if err := pause(ctx, shortestWait); err != nil {
			return err
		}
		if err := f.awaitWatches(ctx, open); err != nil {
			return err
		}
		if back == 0 || time.Since(began) > back+2*shortestWait {
			back = time.Since(began)
		}
	}
	p.Note = fmt.Sprintf("ready after %.1f s, all %d watches back after %.1f s", ready.Seconds(), open, back.Seconds())
	return f.tally.await(ctx, len(f.placed))
}
