package guard_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/yamltest"
)

// lagging is an API server whose cache has the policies of a past revision: it answers lists of any age from it, and its watches show
// nothing. It cannot begin a watch with the present objects, as servers before Kubernetes 1.32.
type lagging struct {
	http.RoundTripper
	revision string
}

// RoundTrip implements http.RoundTripper.
func (l lagging) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	switch {
	case !strings.HasSuffix(request.URL.Path, "/immutabilitypolicies"):
	case query.Get("sendInitialEvents") == "true":
		const invalid = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`
		return &http.Response{
			StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(invalid)), Request: request,
		}, nil
	case query.Get("watch") == "true":
		<-request.Context().Done()
		return nil, request.Context().Err()
	case query.Get("resourceVersion") == "0":
		request = request.Clone(request.Context())
		query.Set("resourceVersion", l.revision)
		query.Set("resourceVersionMatch", "Exact")
		request.URL.RawQuery = query.Encode()
	}
	return l.RoundTripper.RoundTrip(request)
}

// TestStartBehind starts a guard again on an API server that lags. The guard enforces a policy that was in force before.
func TestStartBehind(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create(policies, strings.NewReplacer("NAME", "first", "RESOURCE", "configmaps", "immutable data", "immutable binaryData").Replace(dataPolicy))
	f.wantStatus("first", "True", "all rules are in force")
	listed, err := f.of(policies).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.policy("second", "configmaps")
	f.wantStatus("second", "True", "all rules are in force")
	f.asks("default/configmaps", "c", `{data: {a: new}}`)
	f.stop()
	// The guard is at the same address again.
	var unavailable error
	if f.reviews, unavailable = net.Listen("tcp", f.reviews.Addr().String()); unavailable != nil {
		t.Fatal(unavailable)
	}
	f.edit = func(config *guard.Config) {
		config.Health = nil
		config.Client.Wrap(func(next http.RoundTripper) http.RoundTripper { return lagging{next, listed.GetResourceVersion()} })
	}
	f.serve()
	if got := f.patch("default/configmaps", "c", `{data: {a: new}}`); !strings.HasPrefix(got, "BadRequest: ") {
		t.Errorf("the guard has started again, and answers %s", got)
	}
}

// TestExists checks that a replica reads a namespace that its watch has not shown yet.
func TestExists(t *testing.T) {
	t.Parallel()
	f := start(t)
	replica := guard.NewReplica(t, f.server.Config(t))
	for namespace, want := range map[string]bool{"default": true, "none": false} {
		if got := replica.Exists(t.Context(), namespace); got != want {
			t.Errorf("namespace %s exists: %t", namespace, got)
		}
	}
}

// TestStays checks that a definition that is being deleted does not count as stored, and one that the replica cannot read neither.
func TestStays(t *testing.T) {
	t.Parallel()
	f := start(t)
	definition := yamltest.Object(t, widgetsDefinition)
	definition.SetFinalizers([]string{"example.com/wait"})
	name := definition.GetName()
	if _, err := f.of(definitions).Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	replica, stranger := guard.NewReplica(t, f.server.Config(t)), guard.NewReplica(t, f.server.As(t, "stranger"))
	if !replica.Stays(t.Context(), name) || replica.Stays(t.Context(), "none.example.com") || stranger.Stays(t.Context(), name) {
		t.Error("a definition stays for a replica that may read it, and only if it is stored")
	}
	if err := f.of(definitions).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if replica.Stays(t.Context(), name) {
		t.Error("a definition that is being deleted stays")
	}
}
