package connection_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/connection"
)

// requests records the requests of an HTTP server that answers 404.
type requests struct {
	mu     sync.Mutex
	agents map[string]int
	// remotes are the addresses of the connections.
	remotes map[string]int
}

func (r *requests) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents[req.UserAgent()]++
	r.remotes[req.RemoteAddr]++
	http.NotFound(w, req)
}

func TestClientsShareOneConnection(t *testing.T) {
	seen := &requests{agents: map[string]int{}, remotes: map[string]int{}}
	server := httptest.NewServer(seen)
	defer server.Close()
	config := &rest.Config{Host: server.URL, UserAgent: "config"}
	c, err := connection.Open(config, connection.Options{UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ask(t.Context(), c)
	if diff := cmp.Diff(map[string]int{"test": 4}, seen.agents); diff != "" {
		t.Errorf("user agents (-want +got):\n%s", diff)
	}
	if len(seen.remotes) != 1 {
		t.Errorf("%d connections, want 1", len(seen.remotes))
	}
	if config.UserAgent != "config" {
		t.Errorf("user agent of the caller's config is now %q", config.UserAgent)
	}
	c.Close()
	ask(t.Context(), c)
	if len(seen.remotes) != 2 {
		t.Errorf("%d connections after Close and further requests, want 2", len(seen.remotes))
	}
}

// ask sends one request with each client, one after the other.
func ask(ctx context.Context, c *connection.Connection) {
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	_, _ = c.Typed.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
	_, _ = c.Dynamic.Resource(pods).Namespace("default").Get(ctx, "web", metav1.GetOptions{})
	_, _ = c.Metadata.Resource(pods).Namespace("default").Get(ctx, "web", metav1.GetOptions{})
	_, _ = c.Discovery.ServerVersion()
}

func TestOpenErrors(t *testing.T) {
	tests := map[string]struct {
		config *rest.Config
		want   string
	}{
		"no config":         {nil, "required"},
		"unreadable client": {&rest.Config{Host: "http://[::1"}, `host must be a URL or a host:port pair: "http://[::1"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := connection.Open(test.config, connection.Options{})
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
