package controller_test

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// newManager returns a manager for tests: without ports and log, and with any
// number of controllers of one name.
func newManager(t *testing.T, server *rest.Config, options ctrl.Options) ctrl.Manager {
	t.Helper()
	skip := true
	options.Controller = config.Controller{SkipNameValidation: &skip}
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Logger = logr.Discard()
	manager, err := ctrl.NewManager(server, options)
	if err != nil {
		t.Fatal(err)
	}
	return manager
}

// start runs a manager until stop is called or the test ends.
func start(t *testing.T, manager ctrl.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("manager did not end cleanly: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// directClient returns a client that reads from the server, not from a cache.
func directClient(t *testing.T, server *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(server, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
