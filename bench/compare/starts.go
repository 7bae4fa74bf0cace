package compare

import (
	"context"
	"fmt"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

// starts measures the first start of a server, what it uses at rest, and the memory of watches.
func (r *runner) starts(ctx context.Context) error {
	rows := []Row{
		{Section: "start", Name: "time to ready, first start", Unit: waitUnit, Goal: 0.25},
		{Section: "start", Name: "CPU time to ready, first start", Unit: "ms", Goal: 0.25},
		{Section: "memory", Name: "at rest", Unit: "MB", Goal: 0.5},
		{Section: "start", Name: "CPU time of a second at rest", Unit: "ms"},
		{Section: "memory", Name: fmt.Sprintf("added by %d watches of one ConfigMap", r.settings.Watches), Unit: "MB", Goal: 0.5},
	}
	err := r.lifetimes(r.settings.Starts, rows, func(sideIndex int) ([]Sample, error) {
		l, err := r.begin(ctx, sideIndex)
		if err != nil {
			return nil, err
		}
		defer l.stop()
		for _, step := range []func(context.Context) error{l.rest, l.idle, l.watch} {
			if err := step(ctx); err != nil {
				return nil, err
			}
		}
		return l.samples, nil
	})
	if err != nil {
		return err
	}
	// A server of its own: one that has closed watches has their memory left for the next ones.
	each := []Row{{Section: "memory", Name: fmt.Sprintf("added by %d watches of as many ConfigMaps", r.settings.Watches), Unit: "MB", Goal: 0.5}}
	return r.lifetimes(r.settings.Starts, each, func(sideIndex int) ([]Sample, error) {
		l, err := r.begin(ctx, sideIndex)
		if err != nil {
			return nil, err
		}
		defer l.stop()
		l.samples = nil // those of the start
		err = l.watchEach(ctx)
		return l.samples, err
	})
}

// life is a server during a measurement of its lifetime, with the samples so far.
type life struct {
	server   *side.Server
	settings Settings
	samples  []Sample
}

// begin starts a server of a side. The first samples are the time and the CPU time of the start.
func (r *runner) begin(ctx context.Context, sideIndex int) (*life, error) {
	l := &life{settings: r.settings}
	if err := l.started(func() (*side.Server, error) { return r.Sides[sideIndex].Start(r.Dir) }); err != nil {
		return nil, err
	}
	if err := r.identify(ctx, sideIndex, l.server); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

func (l *life) stop() { l.server.Stop() }

// restart starts the server again with its data, and adds the time and the CPU time of the start.
func (l *life) restart() error {
	old := l.server
	old.Stop()
	return l.started(old.Restart)
}

func (l *life) started(start func() (*side.Server, error)) error {
	server, used, err := measureStart(start)
	if server != nil {
		l.server = server
	}
	if err != nil {
		return err
	}
	l.add(used.sample(milliseconds(server.Ready)), used.sample(milliseconds(used.cpu)))
	return nil
}

func (l *life) add(samples ...Sample) { l.samples = append(l.samples, samples...) }

// settle waits until the server is at rest, and returns what it used meanwhile and its memory.
func (l *life) settle(ctx context.Context) (usage, int64, error) {
	used, err := measure(l.server, func() error { return pause(ctx, l.settings.Settle) })
	if err != nil {
		return usage{}, 0, err
	}
	memory, err := l.server.Memory()
	return used, memory, err
}

// rest adds the memory of the server at rest. Its peak is the highest memory since the last measurement of a peak.
func (l *life) rest(ctx context.Context) error {
	peak, err := l.server.PeakMemory()
	if err != nil {
		return err
	}
	used, memory, err := l.settle(ctx)
	used.peak = max(used.peak, peak)
	l.add(used.sample(megabytes(memory)))
	return err
}

// idle adds the CPU time that the server uses in one second at rest.
func (l *life) idle(ctx context.Context) error {
	used, _, err := l.settle(ctx)
	if err == nil {
		l.add(used.sample(milliseconds(used.cpu) / used.elapsed.Seconds()))
	}
	return err
}

// grown adds the memory by which work makes the server grow.
func (l *life) grown(ctx context.Context, work func() error) error {
	_, before, err := l.settle(ctx)
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	peak, err := l.server.PeakMemory()
	if err != nil {
		return err
	}
	used, after, err := l.settle(ctx)
	used.peak = max(used.peak, peak)
	l.add(used.sample(megabytes(after - before)))
	return err
}

// watch adds the memory of watches that select one object by its name, as a kubelet opens them.
func (l *life) watch(ctx context.Context) error {
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	w := &worker{Client: client, target: configMaps(), name: "watched"}
	if err := createOwn(ctx, w); err != nil {
		return err
	}
	var open *watches
	defer func() {
		if open != nil {
			open.close()
		}
	}()
	return l.grown(ctx, func() (err error) {
		path := w.path + "?watch=true&fieldSelector=metadata.name%3Dwatched&resourceVersion=" + w.revision
		open, err = openWatches(ctx, client, path, l.settings.Watches)
		return err
	})
}

// watchEach adds the memory of watches of one object each, as the kubelets of many nodes have them.
func (l *life) watchEach(ctx context.Context) error {
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	t, revisions := configMaps(), make([]string, l.settings.Watches)
	name := func(i int) string { return fmt.Sprintf("watched-%05d", i) }
	err = atATime(len(revisions), func(i int) error {
		answer, err := client.Do(ctx, side.Request{Method: http.MethodPost, Path: t.path, Body: encode(t.instance(name(i), 1))})
		revisions[i] = revisionOf(answer)
		return err
	})
	if err != nil {
		return err
	}
	var open *watches
	defer func() {
		if open != nil {
			open.close()
		}
	}()
	return l.grown(ctx, func() (err error) {
		open, err = openEach(ctx, client, len(revisions), func(i int) string {
			return t.path + "?watch=true&fieldSelector=metadata.name%3D" + name(i) + "&resourceVersion=" + revisions[i]
		})
		return err
	})
}

// create returns the request that creates the definition of the resource.
func (r resource) create() side.Request {
	return side.Request{
		Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Body: encode(r.definition()),
	}
}
