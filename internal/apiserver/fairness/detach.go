package fairness

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/apiserver/pkg/server/routine"

	"holdfast.dev/holdfast/internal/apiserver/handover"
	"holdfast.dev/holdfast/internal/apiserver/stack"
)

type detachedKey struct{}

// detached is a request between Detach and Attach.
type detached struct {
	// client ends when the client cancels the request, or closes its connection.
	client context.Context //nolint:containedctx // it ends with the request
	// leave gives back the place of the request in the entrance. A second call does nothing.
	leave func()
	// answer is what the client reads.
	answer *answer
}

// Detach goes around the whole chain of handlers, and Attach around the handlers behind the
// priority levels. Between the two, a request does not end when its client cancels it.
//
// The chain of k8s.io/apiserver runs a request in a goroutine of its own. If the context of the
// request ends, the chain answers and returns, and the goroutine goes on. A client that cancels
// each of its requests at once would start any number of these goroutines: net/http bounds
// the streams of a connection by the handlers that have not returned. With Detach, the chain
// returns when the work has ended, or at the deadline of the request.
//
// Detach also limits how many requests of one connection are before the priority levels at a time,
// see entrance, and lets the requests of clients wait that cancel them at once, see pace. A request that its client
// cancels while it waits is dropped without any work. And it notices that a client does not read, see answer.
func Detach(next http.Handler) http.Handler {
	e, paced := newEntrance(), newPace()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		stack.Grow(stack.Shallow)
		client, of := req.Context(), payerOf(req)
		leave, ok := e.enter(client, req.RemoteAddr)
		if ok {
			defer leave()
		}
		if !ok || !paced.await(client, of) {
			// A handler that returns without an answer sends 200 on HTTP/1.
			panic(http.ErrAbortHandler)
		}
		begin := time.Now()
		defer handover.AtEnd(client, func() {
			if client.Err() != nil && time.Since(begin) < hasty {
				paced.charge(of)
			}
		})
		d := &detached{client: client, leave: leave, answer: newAnswer(w)}
		ctx := context.WithValue(context.WithoutCancel(client), detachedKey{}, d)
		w = responsewriter.WrapForHTTP1Or2(d.answer)
		handover.WriteTo(ctx, w)
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

// Attach ends the context of a request when its client cancels it. See Detach.
func Attach(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		d := detachedOf(req.Context())
		// Requests such as exec have not passed the priority levels.
		d.leave()
		ctx, stop := d.attach(req.Context())
		// With the feature gate APIServingWithRoutine, a watch is served after the handlers have returned. Its
		// context then ends with that of the client.
		if routine.TaskFrom(ctx) == nil {
			defer handover.AtEnd(ctx, stop)
		}
		next.ServeHTTP(w, req.WithContext(ctx))
	})
}

// detachedOf returns what Detach put into the context of a request. A request that did not
// pass Detach, as in tests, cannot be cancelled.
func detachedOf(ctx context.Context) *detached {
	if d, ok := ctx.Value(detachedKey{}).(*detached); ok {
		return d
	}
	return &detached{client: context.Background(), leave: func() {}, answer: &answer{}}
}

// attach returns a context that ends with ctx, or when the client cancels the request. The caller
// calls stop when the work has ended.
func (d *detached) attach(ctx context.Context) (attached context.Context, stop func()) {
	attached, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(context.Cause(d.client)) }
	if d.client.Err() != nil {
		// AfterFunc would call end in a goroutine, at some time.
		end()
	}
	detach := context.AfterFunc(d.client, end)
	return attached, func() {
		detach()
		cancel(context.Canceled)
	}
}
