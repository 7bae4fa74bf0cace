package start

import (
	"context"
	"fmt"
	"sync"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
)

// shutdownWork is how long a shutdown waits, while the server still answers, for
// parts of the server that write to the API before they end.
const shutdownWork = time.Second

// Hooks run functions when the server starts and when it shuts down.
type Hooks struct {
	server *genericapiserver.GenericAPIServer
	// failed holds the error of the first start hook that failed.
	failed chan error
	// shutdown are the functions that run before the server stops answering.
	shutdown []func(context.Context)
}

// NewHooks returns the hooks of a server.
func NewHooks(server *genericapiserver.GenericAPIServer) *Hooks {
	return &Hooks{server: server, failed: make(chan error, 1)}
}

// Failed returns the channel with the error of the first start hook that failed.
func (h *Hooks) Failed() <-chan error { return h.failed }

// OnDestroy runs a function when the server is destroyed, after it has answered its last request.
func (h *Hooks) OnDestroy(do func()) { h.server.RegisterDestroyFunc(do) }

// OnStart runs a function once the server listens. The server is ready only after it
// returned. An error ends the server, and Run returns it. Upstream would exit the
// process, even if the function failed because the server is shutting down.
func (h *Hooks) OnStart(name string, do func(genericapiserver.PostStartHookContext) error) error {
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

// InBackground runs a function from the start of the server until it has drained.
func (h *Hooks) InBackground(name string, run func(ctx context.Context)) error {
	return h.OnStart(name, func(hook genericapiserver.PostStartHookContext) error {
		go run(hook)
		return nil
	})
}

// OnShutdown runs a function before the server stops answering. All such functions
// run at the same time, and must return when ctx ends.
func (h *Hooks) OnShutdown(do func(ctx context.Context)) { h.shutdown = append(h.shutdown, do) }

// Install registers the functions that OnShutdown collected. It is called once, after
// all of them are known.
func (h *Hooks) Install() error {
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

// WhileServing runs a function from the start of the server until it shuts down. It
// ends earlier than InBackground, while the server still answers, and the shutdown
// waits for it.
func (h *Hooks) WhileServing(name string, run func(ctx context.Context)) error {
	ctx, cancel := context.WithCancel(context.Background())
	begun, done := make(chan struct{}), make(chan struct{})
	h.OnShutdown(func(deadline context.Context) {
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
	return h.OnStart(name, func(genericapiserver.PostStartHookContext) error {
		close(begun)
		go func() {
			defer close(done)
			run(ctx)
		}()
		return nil
	})
}
