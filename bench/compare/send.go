package compare

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"holdfast.dev/holdfast/bench/side"
)

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
func (r requestRow) sample(ctx context.Context, m *meter, first int) (Sample, error) {
	workers := make([]*worker, r.clients)
	for i := range workers {
		client, err := m.server.Client(side.Administrator())
		if err != nil {
			return Sample{}, err
		}
		defer client.Close()
		workers[i] = &worker{Client: client, target: r.target, name: fmt.Sprintf("client-%02d", i), generation: first}
		if r.prepare != nil {
			if err := r.prepare(ctx, workers[i]); err != nil {
				return Sample{}, err
			}
		}
	}
	// The first requests open connections and fill caches.
	if err := sendAll(ctx, workers, max(r.clients, 3), r.send); err != nil {
		return Sample{}, err
	}
	return m.measureRequests(ctx, r.requests, r.clients, func() error { return sendAll(ctx, workers, r.requests, r.send) })
}
