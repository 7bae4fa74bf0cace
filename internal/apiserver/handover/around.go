package handover

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"holdfast.dev/holdfast/internal/apiserver/stack"
)

type key struct{}

// handover is one request between Around and Into.
type handover struct {
	// writer is the writer of the answer, and handler the handler, once Into has handed the request over.
	writer  http.ResponseWriter
	handler http.Handler
	// given has the request, once Into has handed it over.
	given chan *http.Request
	// left has what the filters panicked with, or nil, once they have returned.
	left chan any
	// over is closed when the handler has returned.
	over chan struct{}

	mu sync.Mutex
	// running is set while the handler runs in the goroutine of the request.
	running bool
	// later are called when the handler has returned.
	later []func()
}

// from returns the handover of a request, nil if there is none.
func from(ctx context.Context) *handover {
	h, _ := ctx.Value(key{}).(*handover)
	return h
}

// around runs the filters of requests that may be watches in a goroutine of their own.
func around(filters http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !mayWatch(req) {
			filters.ServeHTTP(w, req)
			return
		}
		h := &handover{writer: w, given: make(chan *http.Request, 1), left: make(chan any, 1), over: make(chan struct{})}
		go h.run(filters, req)
		h.serve()
	})
}

// mayWatch returns false if a request is no watch for certain. The filters find out what it is. A body belongs to the goroutine that reads it.
func mayWatch(req *http.Request) bool {
	return req.Method == http.MethodGet && req.ContentLength == 0 &&
		(strings.Contains(req.URL.RawQuery, "watch") || strings.Contains(req.URL.Path, "/watch/"))
}

// run runs the filters.
func (h *handover) run(filters http.Handler, req *http.Request) {
	defer func() { h.left <- recover() }()
	stack.Grow(stack.Deep)
	filters.ServeHTTP(h.writer, req.WithContext(context.WithValue(req.Context(), key{}, h)))
}

// serve calls the handler if the filters hand the request over, and returns when both have returned.
func (h *handover) serve() {
	select {
	case req := <-h.given:
		defer h.leave()
		defer h.end()
		h.handler.ServeHTTP(h.writer, req)
	case failure := <-h.left:
		h.left <- failure
		h.leave()
	}
}

// leave waits until the filters have returned. It panics with what they panicked with.
func (h *handover) leave() {
	if failure := <-h.left; failure != nil {
		panic(failure)
	}
}

// end records that the handler has returned.
func (h *handover) end() {
	h.mu.Lock()
	later := h.later
	h.running, h.later = false, nil
	h.mu.Unlock()
	close(h.over)
	for _, do := range later {
		do()
	}
}

// afterwards calls a function when the handler has returned.
func (h *handover) afterwards(do func()) {
	h.mu.Lock()
	if h.running {
		h.later = append(h.later, do)
		do = nil
	}
	h.mu.Unlock()
	if do != nil {
		do()
	}
}
