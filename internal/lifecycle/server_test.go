package lifecycle_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/lifecycle"
)

// cluster holds the clients of a server.
type cluster struct{ servertest.Cluster }

// startWithControllers starts a server, and the controllers a second time in the test process. One
// of the two becomes the leader.
func startWithControllers(t testing.TB) cluster {
	t.Helper()
	c := cluster{servertest.Start(t, apiserver.Config{}).Cluster(t)}
	start(t, lifecycle.Config{Client: c.Config})
	return c
}

// startLedBy starts a server. The controllers of the server do not run, because the given identity holds their Lease.
func startLedBy(t testing.TB, holder string) cluster {
	t.Helper()
	return cluster{servertest.StartLedBy(t, holder, apiserver.Config{}).Cluster(t)}
}

// lease returns the spec of the Lease of the controllers. It is empty if there is no Lease.
func (c cluster) lease(t testing.TB) coordinationv1.LeaseSpec {
	t.Helper()
	lease, err := c.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), servertest.ControllersLease, metav1.GetOptions{})
	if notFound(t, err) {
		return coordinationv1.LeaseSpec{}
	}
	return lease.Spec
}

// leader returns the identity that holds the Lease, or "".
func (c cluster) leader(t testing.TB) string {
	t.Helper()
	return ptr.Deref(c.lease(t).HolderIdentity, "")
}

// transitions returns how often the Lease got another holder.
func (c cluster) transitions(t testing.TB) int32 {
	t.Helper()
	return ptr.Deref(c.lease(t).LeaseTransitions, 0)
}

// startWithout starts a server without controllers, for tests that run the controllers themselves with startLeading.
func startWithout(t testing.TB) cluster {
	t.Helper()
	return cluster{servertest.Start(t, apiserver.Config{Controllers: lifecycle.Selection{"-*"}}).Cluster(t)}
}

// startLeading starts the controllers without an election. On a busy machine, an elected leader may lose its Lease to the server.
func startLeading(t testing.TB, config lifecycle.Config) {
	t.Helper()
	run(t, config, lifecycle.RunLeading)
}

// start starts the controllers. They run until the test ends or stop is called.
func start(t testing.TB, config lifecycle.Config) (stop func()) {
	t.Helper()
	return run(t, config, lifecycle.Run)
}

func run(t testing.TB, config lifecycle.Config, run func(context.Context, lifecycle.Config) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := run(ctx, config); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-stopped
	}
	t.Cleanup(stop)
	return stop
}

// notFound reports whether the error of a get request says that the object does not exist.
// It fails the test on any other error.
func notFound(t testing.TB, err error) bool {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err != nil
}

// roundTripper is a function that implements http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// countRequests returns a client config that counts requests, except those for Leases.
func (c cluster) countRequests() (*rest.Config, *atomic.Int64) {
	requests := &atomic.Int64{}
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if !strings.Contains(request.URL.Path, "/leases") {
				requests.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	return config, requests
}
