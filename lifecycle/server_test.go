package lifecycle_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/lifecycle"
)

// cluster is a real server and the way to it.
type cluster struct {
	*kubernetes.Clientset
	config *rest.Config
}

// startServer runs a server on a directory until the test ends or stop is called.
func startServer(t testing.TB, dir string) (c cluster, stop func()) {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	stop = func() {
		if err := server.Stop(); err != nil {
			t.Errorf("server: %v", err)
		}
	}
	config := server.Config(t)
	return cluster{Clientset: kubernetes.NewForConfigOrDie(config), config: config}, stop
}

// newCluster is a server with its controllers at work, whoever leads them.
func newCluster(t testing.TB) cluster {
	t.Helper()
	c, _ := startServer(t, t.TempDir())
	start(t, lifecycle.Config{Client: c.config})
	return c
}

// newClusterLedBy is a server that starts with the controllers' Lease in the
// hands of somebody, for longer than the test takes: nobody else leads.
func newClusterLedBy(t testing.TB, holder string) cluster {
	t.Helper()
	dir := t.TempDir()
	c, stop := startServer(t, dir)
	servertest.SetLeader(t, c, holder, time.Hour)
	stop()
	c, _ = startServer(t, dir)
	return c
}

// leader is who holds the Lease now.
func (c cluster) leader(t testing.TB) string {
	t.Helper()
	lease, err := c.CoordinationV1().Leases(metav1.NamespaceSystem).Get(t.Context(), servertest.ControllersLease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && lease.Spec.HolderIdentity == nil {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

// start runs the controllers until the test ends or stop is called.
func start(t testing.TB, config lifecycle.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := lifecycle.Run(ctx, config); err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// gone reports whether an object is not there, by the error of reading it.
func gone(t testing.TB, err error) bool {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err != nil
}

// tripper is a transport of the controllers that a test looks into.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// counted is a client config that counts the requests of the controllers, those
// for their Lease left out.
func (c cluster) counted() (*rest.Config, *atomic.Int64) {
	requests := &atomic.Int64{}
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(request *http.Request) (*http.Response, error) {
			if !strings.Contains(request.URL.Path, "/leases") {
				requests.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	return config, requests
}
