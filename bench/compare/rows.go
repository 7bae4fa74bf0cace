package compare

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"holdfast.dev/holdfast/bench/side"
)

// Row is one kind of work.
type Row struct {
	// Section is the table that the row is in.
	Section string
	Name    string
	// Unit is the unit of the values: ms of CPU time, MB of memory, or waitUnit.
	Unit string
	// Goal is the highest ratio of Holdfast's value to the peer's that reaches the goal, or 0 if there is none.
	Goal float64
}

func (r Row) title() string { return r.Section + ": " + r.Name }

// requestRow is a row of single requests.
type requestRow struct {
	Row
	target  target
	clients int
	// requests is the number of requests in a full sample.
	requests int
	// prepare runs before the sample, for each worker, and send sends one request.
	prepare, send func(ctx context.Context, w *worker) error
	// grows says that each request adds an object. These are deleted after the sample.
	grows bool
}

// requestRows returns the rows of requests for 1 and for 16 clients, and the rows about growth.
func requestRows(s Settings) []requestRow {
	custom, listed := customResource(s), listedResource(s)
	var rows []requestRow
	for _, clients := range []int{1, 16} {
		table := []requestRow{
			{Row: Row{Name: "create", Goal: 0.1}, requests: 100, send: sendCreate, grows: true},
			{Row: Row{Name: "get", Goal: 0.1}, requests: 500, prepare: createOwn, send: sendGet},
			{Row: Row{Name: "update", Goal: 0.1}, requests: 100, prepare: createOwn, send: sendUpdate},
			{Row: Row{Name: "merge patch", Goal: 0.1}, requests: 100, prepare: createOwn, send: sendMergePatch},
			{Row: Row{Name: "apply", Goal: 1.0 / 7}, requests: 100, send: sendApply},
			{Row: Row{Name: fmt.Sprintf("list of %d", s.Listed), Goal: 0.1}, requests: 5, prepare: fill(s.Listed), send: sendList, target: listed.target()},
			{Row: Row{Name: "ConfigMap create", Goal: 0.5}, requests: 300, send: sendCreate, grows: true, target: configMaps()},
			{Row: Row{Name: "ConfigMap get", Goal: 0.5}, requests: 500, prepare: createOwn, send: sendGet, target: configMaps()},
			{Row: Row{Name: "ConfigMap update", Goal: 0.5}, requests: 300, prepare: createOwn, send: sendUpdate, target: configMaps()},
			{Row: Row{Name: "ConfigMap apply", Goal: 0.5}, requests: 300, send: sendApply, target: configMaps()},
		}
		for _, r := range table {
			r.Section, r.clients = plural(clients, "client"), clients
			if r.target.path == "" {
				r.target = custom.target()
			}
			rows = append(rows, r)
		}
	}
	for _, fields := range s.Growth {
		grown := grownResource(fields).target()
		for _, r := range []requestRow{
			{Row: Row{Name: "create"}, send: sendCreate, grows: true},
			{Row: Row{Name: "get"}, prepare: createOwn, send: sendGet},
			{Row: Row{Name: "update"}, prepare: createOwn, send: sendUpdate},
			{Row: Row{Name: "apply"}, send: sendApply},
		} {
			r.Section, r.Name = "growth with the fields", fmt.Sprintf("%s, %d fields", r.Name, fields)
			r.clients, r.requests, r.target = 1, 40, grown
			rows = append(rows, r)
		}
	}
	for i := range rows {
		rows[i].Unit = "ms"
		rows[i].requests = max(int(float64(rows[i].requests)*s.Work), rows[i].clients, 2)
	}
	return rows
}

// customResource returns the custom resource of the rows of requests and watches.
func customResource(s Settings) resource {
	return resource{group: "bench.example.com", name: "fleet", fields: s.Fields}
}

// listedResource returns the resource of the rows of lists. It is another one, so that the other rows do not change the lists.
func listedResource(s Settings) resource {
	return resource{group: "bench.example.com", name: "roster", fields: s.Fields}
}

// grownResource returns the resource of the rows about growth.
func grownResource(fields int) resource {
	return resource{group: "growth.example.com", name: fmt.Sprintf("grown%d", fields), fields: fields}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sendAll lets the workers send n requests in total and returns their errors.
func sendAll(ctx context.Context, workers []*worker, n int, send func(context.Context, *worker) error) error {
	errs := make([]error, len(workers))
	var group sync.WaitGroup
	for i, w := range workers {
		share := n / len(workers)
		if i < n%len(workers) {
			share++
		}
		group.Go(func() {
			for range share {
				if errs[i] = send(ctx, w); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// sample takes a sample of the row. Each sample needs generations that no earlier sample has used; they begin with first.
func (r requestRow) sample(ctx context.Context, server *side.Server, first int) (sample, error) {
	workers := make([]*worker, r.clients)
	for i := range workers {
		client, err := server.Client(side.Administrator())
		if err != nil {
			return sample{}, err
		}
		defer client.Close()
		workers[i] = &worker{Client: client, target: r.target, name: fmt.Sprintf("client-%02d", i), generation: first}
		if r.prepare != nil {
			if err := r.prepare(ctx, workers[i]); err != nil {
				return sample{}, err
			}
		}
	}
	// The first requests open connections and fill caches.
	if err := sendAll(ctx, workers, max(r.clients, 3), r.send); err != nil {
		return sample{}, err
	}
	used, err := measure(server, func() error { return sendAll(ctx, workers, r.requests, r.send) })
	if err != nil {
		return sample{}, err
	}
	return used.perRequest(r.requests, r.clients), nil
}
