package controller

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/api"
)

// runs holds, for each Instance that a worker reconciles, the function that ends its context.
type runs struct {
	mu  sync.Mutex
	all map[cache.ObjectName]context.CancelFunc
}

// begin returns a context for the plan of an Instance. It ends with ctx, and when end is
// called. The caller reads the Instance afterwards, so that it does not miss a deletion, and calls the
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

// endsRun reports whether the run of a plan ends with a change of its Instance: the deletion begins, a client
// cancels the plan, or the Instance was replaced by another one of the same name.
func endsRun(before, after metav1.Object) bool {
	return before.GetUID() != after.GetUID() || (before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil) ||
		(!isCancelled(before) && isCancelled(after))
}

// isCancelled reports whether a client has cancelled the plan of an Instance.
func isCancelled(instance metav1.Object) bool {
	object, ok := instance.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	run, _, _ := unstructured.NestedStringMap(object.Object, "spec", "planExecution")
	return run["planName"] == "" && run["status"] == string(api.FatalError)
}

// end ends the context of the plan of an Instance, if a worker runs it.
func (r *runs) end(name cache.ObjectName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.all[name]; cancel != nil {
		cancel()
	}
}
