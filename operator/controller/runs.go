package controller

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// runs holds, for each Instance that a worker reconciles, the function that ends its context.
type runs struct {
	mu  sync.Mutex
	all map[cache.ObjectName]context.CancelFunc
}

// begin returns a context for the plan of an Instance. It ends with ctx, and when the Instance is
// deleted. The caller reads the Instance afterwards, so that it does not miss a deletion, and calls the
// function when the work has ended. Only one worker at a time works on an Instance.
func (r *runs) begin(ctx context.Context, name cache.ObjectName) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[cache.ObjectName]context.CancelFunc{}
	}
	r.all[name] = cancel
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.all, name)
		cancel()
	}
}

// end ends the context of the plan of an Instance, if a worker runs it.
func (r *runs) end(name cache.ObjectName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.all[name]; cancel != nil {
		cancel()
	}
}
