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

// storeObjects measures a server with each number of objects in turn, and returns the samples of objectRows for each of them.
func storeObjects(ctx context.Context, s side.Side, dir string, settings Settings) ([][]sample, error) {
	server, err := s.Start(dir)
	if err != nil {
		return nil, err
	}
	defer func() { server.Stop() }()
	stored := resource{group: "stored.example.com", name: "item", fields: objectFields}
	if err := defineOne(ctx, server, stored); err != nil {
		return nil, err
	}
	var all [][]sample
	have := 0
	for _, n := range settings.Objects {
		created, err := createObjects(ctx, server, stored.target(), have, n-have)
		if err != nil {
			return nil, err
		}
		have = n
		server.Stop()
		restarted, err := server.Restart()
		if err != nil {
			return nil, err
		}
		server = restarted
		l := &life{server: server, settings: settings, samples: []sample{created}}
		// started adds the time to ready, too, which has no row here.
		if err := l.started(ctx); err != nil {
			return nil, err
		}
		if err := listOnce(ctx, server, stored.target()); err != nil {
			return nil, err
		}
		if err := l.rest(ctx); err != nil {
			return nil, err
		}
		all = append(all, []sample{l.samples[0], l.samples[2], l.samples[3]})
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
func createObjects(ctx context.Context, server *side.Server, t target, first, n int) (sample, error) {
	var workers []*worker
	for i := range creators {
		client, err := server.Client(side.Administrator())
		if err != nil {
			return sample{}, err
		}
		defer client.Close()
		workers = append(workers, &worker{Client: client, target: t, name: fmt.Sprintf("client-%02d", i), generation: first})
	}
	used, err := measure(server, func() error { return sendAll(ctx, workers, n, sendCreate) })
	if err != nil {
		return sample{}, err
	}
	return used.perRequest(n, creators), nil
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
