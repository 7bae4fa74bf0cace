package conformance

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/cluster"
	"holdfast.dev/holdfast/bench/side"
)

// Settings are the programs, and how a run uses them.
type Settings struct {
	// Binaries is the directory with e2e.test, kubectl, kube-controller-manager, kube-scheduler and kubemark.
	Binaries string
	// Dir is for data, logs and reports.
	Dir string
	// Nodes is the number of nodes.
	Nodes int
	// Parallel is the number of tests that run at the same time. Serial tests run alone.
	Parallel int
	// Limit is the time limit of one test.
	Limit time.Duration
	// Done is called with each result. Calls do not overlap.
	Done func(name string, result Result)
}

// Hollow runs tests on a new server of a side with hollow kubelets.
func Hollow(ctx context.Context, s side.Side, names []string, settings Settings) error {
	return run(ctx, s, names, &tests{Settings: settings, nodes: cluster.Settings{Binaries: settings.Binaries, Kubelets: settings.Nodes}})
}

// OnSimulated runs tests on a new server of a side with simulated nodes.
func OnSimulated(ctx context.Context, s side.Side, names []string, settings Settings) error {
	return run(ctx, s, names, &tests{Settings: settings, nodes: cluster.Settings{Binaries: settings.Binaries, Simulated: settings.Nodes}})
}

// tests runs tests on one server.
type tests struct {
	Settings
	nodes   cluster.Settings
	program e2e
	mutex   sync.Mutex
	started int
	errs    []error
}

// run starts a server, its components and nodes, runs the tests and stops all.
func run(ctx context.Context, s side.Side, names []string, t *tests) error {
	if len(names) == 0 {
		return nil
	}
	server, err := s.Start(t.Dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	started, err := cluster.Start(ctx, server, t.nodes)
	if err != nil {
		return err
	}
	defer started.Stop()
	t.program = e2e{
		program: filepath.Join(t.Binaries, "e2e.test"), kubectl: filepath.Join(t.Binaries, "kubectl"),
		kubeconfig: filepath.Join(server.Dir(), "e2e.kubeconfig"), dir: filepath.Join(server.Dir(), "e2e"), limit: t.Limit,
	}
	if err := server.WriteKubeconfig(t.program.kubeconfig, side.Administrator()); err != nil {
		return err
	}
	var parallel, alone []string
	for _, name := range names {
		if serial(name) {
			alone = append(alone, name)
		} else {
			parallel = append(parallel, name)
		}
	}
	t.runAll(ctx, parallel, t.Parallel)
	t.runAll(ctx, alone, 1)
	return errors.Join(append(t.errs, ctx.Err())...)
}

// runAll runs tests, a number of them at the same time.
func (t *tests) runAll(ctx context.Context, names []string, atOnce int) {
	next := make(chan string)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for name := range next {
				t.runOne(ctx, name)
			}
		})
	}
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		next <- name
	}
	close(next)
	workers.Wait()
}

// runOne runs a test and reports its result.
func (t *tests) runOne(ctx context.Context, name string) {
	t.mutex.Lock()
	t.started++
	number := t.started
	t.mutex.Unlock()
	result, err := t.program.run(ctx, number, name)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch {
	case ctx.Err() != nil: // the run was interrupted, and so was the test
	case err != nil:
		t.errs = append(t.errs, err)
	default:
		t.Done(name, result)
	}
}
