package compare

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// definitionFields are the numbers of fields that generated definitions have, in turn. Most definitions of public projects are small
// and a few are very large.
func definitionFields() []int { return []int{30, 100, 30, 300, 100, 30, 1000, 100, 30, 300} }

// definitionsPerGroup is the number of definitions that have the same API group.
const definitionsPerGroup = 15

// lifetime measures a server from its first start on, and returns one sample for each of lifetimeRows.
func lifetime(ctx context.Context, s side.Side, dir string, settings Settings) ([]sample, error) {
	server, err := s.Start(dir)
	if err != nil {
		return nil, err
	}
	defer func() { server.Stop() }()
	l := &life{server: server, settings: settings}
	steps := []func(context.Context) error{l.started, l.rest, l.watch, l.define}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	server.Stop()
	if l.server, err = server.Restart(); err != nil {
		return nil, err
	}
	server = l.server
	for _, step := range []func(context.Context) error{l.started, l.rest} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return l.samples, nil
}

// lifetimeRows are the rows that lifetime measures, in this order.
func lifetimeRows(s Settings) []Row {
	memory := "memory"
	start := "start"
	with := fmt.Sprintf("with %d definitions", s.Definitions)
	return []Row{
		{Section: start, Name: "time to ready, first start", Unit: waitUnit, Goal: 0.25},
		{Section: start, Name: "CPU time to ready, first start", Unit: "ms", Goal: 0.25},
		{Section: memory, Name: "at rest", Unit: "MB", Goal: 0.5},
		{Section: memory, Name: fmt.Sprintf("added by %d watches of one ConfigMap", s.Watches), Unit: "MB", Goal: 0.5},
		{Section: start, Name: "CPU time to create a definition", Unit: "ms"},
		{Section: start, Name: "time to ready, " + with, Unit: waitUnit, Goal: 0.25},
		{Section: start, Name: "CPU time to ready, " + with, Unit: "ms", Goal: 0.25},
		{Section: memory, Name: "at rest after a start " + with + " that no client uses", Unit: "MB", Goal: 0.2},
	}
}

// waitUnit is the unit of times that other work on the machine makes longer. The report leaves them out if the run was disturbed.
const waitUnit = "ms waiting"

// life is a server during a measurement of its lifetime.
type life struct {
	server   *side.Server
	settings Settings
	samples  []sample
}

func (l *life) add(value float64) error {
	peak, err := l.server.PeakMemory()
	l.samples = append(l.samples, sample{value: value, peak: peak})
	return err
}

// started adds the cost of the start that has just ended.
func (l *life) started(context.Context) error {
	cpu, err := l.server.CPU()
	if err != nil {
		return err
	}
	if err := l.add(milliseconds(l.server.Ready)); err != nil {
		return err
	}
	return l.add(milliseconds(cpu))
}

// rest adds the memory of the idle server.
func (l *life) rest(context.Context) error {
	memory, err := l.settledMemory()
	if err != nil {
		return err
	}
	return l.add(megabytes(memory))
}

func (l *life) settledMemory() (int64, error) {
	time.Sleep(l.settings.Settle)
	return l.server.Memory()
}

// watch adds the memory of watches that select one object by its name, as a kubelet opens them.
func (l *life) watch(ctx context.Context) error {
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	w := &worker{Client: client, target: configMaps(), name: "watched"}
	if err := client.Await(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default"}); err != nil {
		return err
	}
	if err := createOwn(ctx, w); err != nil {
		return err
	}
	before, err := l.settledMemory()
	if err != nil {
		return err
	}
	path := w.path + "?watch=true&fieldSelector=metadata.name%3Dwatched&resourceVersion=" + w.revision
	open, err := openWatches(ctx, client, path, l.settings.Watches)
	if err != nil {
		return err
	}
	defer open.close()
	after, err := l.settledMemory()
	if err != nil {
		return err
	}
	return l.add(megabytes(after - before))
}

// define adds the CPU time for the creation of one definition. It ends when the server serves the last definition.
func (l *life) define(ctx context.Context) error {
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	var last resource
	used, err := measure(l.server, func() error {
		for i := range l.settings.Definitions {
			sizes := definitionFields()
			last = resource{
				group: fmt.Sprintf("project%03d.example.com", i/definitionsPerGroup),
				name:  fmt.Sprintf("kind%04d", i), fields: sizes[i%len(sizes)],
			}
			if _, err := client.Do(ctx, last.create()); err != nil {
				return err
			}
		}
		return client.Await(ctx, side.Request{Method: http.MethodGet, Path: last.target().path})
	})
	if err != nil {
		return err
	}
	return l.add(milliseconds(used.cpu) / float64(l.settings.Definitions))
}

// create returns the request that creates the definition of the resource.
func (r resource) create() side.Request {
	return side.Request{
		Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Body: encode(r.definition()),
	}
}
