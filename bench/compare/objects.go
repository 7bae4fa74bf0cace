package compare

import (
	"context"
	"fmt"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

// objectFields is the number of fields of the stored objects.
const objectFields = 30

// creators is the number of clients that create the stored objects.
const creators = 16

// objects measures a server with each number of stored objects.
func (r *runner) objects(ctx context.Context) error {
	for round := range r.settings.Starts {
		var counts []int
		var rows []Row
		for _, n := range r.settings.Objects {
			if round < r.settings.samplesOf(n, veryManyObjects) {
				counts, rows = append(counts, n), append(rows, objectRows(n)...)
			}
		}
		err := r.lifetimes(1, rows, func(sideIndex int) ([]Sample, error) { return r.storeObjects(ctx, sideIndex, counts) })
		if err != nil {
			return err
		}
	}
	return nil
}

// objectRows are the rows about a number of stored objects, in the order in which storeObjects measures them.
func objectRows(n int) []Row {
	section := "growth with the objects"
	return []Row{
		{Section: section, Name: fmt.Sprintf("CPU time of a create, up to %d objects", n), Unit: "ms"},
		{Section: section, Name: fmt.Sprintf("CPU time to ready, %d objects", n), Unit: "ms"},
		// An informer lists all objects once. The watch cache of the server holds them from then on.
		{Section: section, Name: fmt.Sprintf("memory after a list of %d objects", n), Unit: "MB", Goal: 1},
	}
}

// storeObjects measures a server with each number of objects in turn, and returns the samples of objectRows for all of them.
func (r *runner) storeObjects(ctx context.Context, sideIndex int, counts []int) ([]Sample, error) {
	l, err := r.begin(ctx, sideIndex)
	if err != nil {
		return nil, err
	}
	defer func() { l.stop() }()
	stored := resource{group: "stored.example.com", name: "item", fields: objectFields}
	if err := defineOne(ctx, l.server, stored); err != nil {
		return nil, err
	}
	var all []Sample
	have := 0
	for _, n := range counts {
		l.samples = nil
		created, err := createObjects(ctx, l.server, stored.target(), have, n-have)
		if err != nil {
			return nil, err
		}
		have = n
		if err := l.restart(); err != nil {
			return nil, err
		}
		if err := listOnce(ctx, l.server, stored.target()); err != nil {
			return nil, err
		}
		if err := l.rest(ctx); err != nil {
			return nil, err
		}
		// The time to ready, the first sample of the restart, has no row here.
		all = append(all, created, l.samples[1], l.samples[2])
	}
	return all, nil
}

// defineOne creates a definition and waits until the server serves it.
func defineOne(ctx context.Context, server *side.Server, r resource) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.Do(ctx, r.create()); err != nil {
		return err
	}
	return client.Await(ctx, side.Request{Method: http.MethodGet, Path: r.target().path})
}

// createObjects creates n objects and returns the cost of one. The number of the first object is first.
func createObjects(ctx context.Context, server *side.Server, t target, first, n int) (Sample, error) {
	var workers []*worker
	for i := range creators {
		client, err := server.Client(side.Administrator())
		if err != nil {
			return Sample{}, err
		}
		defer client.Close()
		workers = append(workers, &worker{Client: client, target: t, name: fmt.Sprintf("client-%02d", i), generation: first})
	}
	m, err := newMeter(server)
	if err != nil {
		return Sample{}, err
	}
	defer m.client.Close()
	return m.measureRequests(ctx, n, creators, func() error { return sendAll(ctx, workers, n, sendCreate) })
}

// listOnce lists all objects as an informer does.
func listOnce(ctx context.Context, server *side.Server, t target) error {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Await(ctx, side.Request{Method: http.MethodGet, Path: t.path + "?resourceVersion=0"})
}
