package garbage_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/lifecycle/garbage"
)

// shared is a server that collects garbage itself. Each test has namespaces of its own.
var shared cluster

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(config *rest.Config) error {
		shared = cluster{servertest.NewCluster(config)}
		return nil
	}))
}

// cluster holds the clients of a server.
type cluster struct{ servertest.Cluster }

// startWithoutControllers starts a server that collects no garbage. Its controllers
// do not run, because the test holds their Lease.
func startWithoutControllers(t testing.TB) cluster {
	t.Helper()
	return cluster{servertest.StartLedBy(t, "test", apiserver.Config{}).Cluster(t)}
}

// collect collects garbage with a client config until the test ends. stored may be nil.
func collect(t testing.TB, config *rest.Config, stored garbage.Stored) {
	t.Helper()
	collectWith(t, config, garbage.Config{Stored: stored})
}

// collectWith is collect with more settings, without those of the client.
func collectWith(t testing.TB, config *rest.Config, settings garbage.Config) {
	t.Helper()
	server, err := connection.Open(config, connection.Options{UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		settings.Metadata, settings.Discovery = server.Metadata, server.Discovery
		garbage.Run(ctx, settings)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		server.Close()
	})
}

// notFound reports whether an object does not exist, by the error of reading it.
func notFound(t testing.TB, err error) bool {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err != nil
}

// roundTripper is an HTTP transport that a test puts between client and server.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// unwatched is a garbage.Stored that can list objects and not watch them.
type unwatched func(resource schema.GroupResource, namespace string) []metav1.PartialObjectMetadata

func (unwatched) Has(schema.GroupVersionResource) bool { return false }

func (u unwatched) List(_ context.Context, resource schema.GroupResource, namespace string) (garbage.List, error) {
	return garbage.List{Items: u(resource, namespace)}, nil
}

func (unwatched) Watch(context.Context, string, func(), func(garbage.Change)) error {
	return errors.New("not watched")
}
