package apiserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
)

// readyPoll is how often the server checks a condition that the start waits for.
const readyPoll = 10 * time.Millisecond

// shutdownWork is how long a shutdown waits, while the server still answers, for
// parts of the server that write to the API before they end.
const shutdownWork = time.Second

// hooks run functions when the server starts and when it shuts down.
type hooks struct {
	server *genericapiserver.GenericAPIServer
	// failed holds the error of the first start hook that failed.
	failed chan error
	// shutdown are the functions that run before the server stops answering.
	shutdown []func(context.Context)
}

func newHooks(server *genericapiserver.GenericAPIServer) *hooks {
	return &hooks{server: server, failed: make(chan error, 1)}
}

// onStart runs a function once the server listens. The server is ready only after it
// returned. An error ends the server, and Run returns it. Upstream would exit the
// process, even if the function failed because the server is shutting down.
func (h *hooks) onStart(name string, do func(genericapiserver.PostStartHookContext) error) error {
	return h.server.AddPostStartHook(name, func(hook genericapiserver.PostStartHookContext) error {
		err := do(hook)
		if err == nil {
			return nil
		}
		if hook.Err() == nil {
			select {
			case h.failed <- fmt.Errorf("%s: %w", name, err):
			default: // another hook failed first
			}
		}
		// Upstream counts a hook as ready when its function returns. This hook failed, so
		// its function blocks until the shutdown, and the server never becomes ready.
		<-hook.Done()
		return nil
	})
}

// inBackground runs a function from the start of the server until it has drained.
func (h *hooks) inBackground(name string, run func(ctx context.Context)) error {
	return h.onStart(name, func(hook genericapiserver.PostStartHookContext) error {
		go run(hook)
		return nil
	})
}

// onShutdown runs a function before the server stops answering. All such functions
// run at the same time, and must return when ctx ends.
func (h *hooks) onShutdown(do func(ctx context.Context)) { h.shutdown = append(h.shutdown, do) }

// install registers the functions that onShutdown collected. It is called once, after
// all of them are known.
func (h *hooks) install() error {
	return h.server.AddPreShutdownHook("shutdown-work", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownWork)
		defer cancel()
		var running sync.WaitGroup
		for _, do := range h.shutdown {
			running.Go(func() { do(ctx) })
		}
		running.Wait()
		return nil
	})
}

// whileServing runs a function from the start of the server until it shuts down. It
// ends earlier than inBackground, while the server still answers, and the shutdown
// waits for it.
func (h *hooks) whileServing(name string, run func(ctx context.Context)) error {
	ctx, cancel := context.WithCancel(context.Background())
	begun, done := make(chan struct{}), make(chan struct{})
	h.onShutdown(func(deadline context.Context) {
		cancel()
		select {
		case <-begun:
		default:
			return // the server shuts down before the hook ran
		}
		select {
		case <-done:
		case <-deadline.Done():
		}
	})
	return h.onStart(name, func(genericapiserver.PostStartHookContext) error {
		close(begun)
		go func() {
			defer close(done)
			run(ctx)
		}()
		return nil
	})
}
