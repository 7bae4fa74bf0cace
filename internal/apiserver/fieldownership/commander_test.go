package fieldownership_test

import (
	"net/http"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
)

// commander is a client that writes as one command of kubectl and keeps the warnings.
type commander struct {
	kubernetes.Interface
	mu     sync.Mutex
	said   []string
	header http.Header
}

// running returns a client that sends the header of a command, and further headers, with
// every request.
func running(t testing.TB, config *restclient.Config, command string, headers ...string) *commander {
	t.Helper()
	c := &commander{}
	config = restclient.CopyConfig(config)
	config.WarningHandler = c
	config.ContentType = "application/json"
	config.UserAgent = "kubectl/v1.32.0 (linux/amd64)"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if command != "" {
				req.Header.Set("Kubectl-Command", command)
			}
			for i := 0; i < len(headers); i += 2 {
				req.Header.Set(headers[i], headers[i+1])
			}
			resp, err := next.RoundTrip(req)
			if err == nil {
				c.mu.Lock()
				c.header = resp.Header
				c.mu.Unlock()
			}
			return resp, err
		})
	})
	c.Interface = kubernetes.NewForConfigOrDie(config)
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// HandleWarningHeader implements rest.WarningHandler.
func (c *commander) HandleWarningHeader(_ int, _ string, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, text)
}

// heard returns the warnings since the last call.
func (c *commander) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.said
	c.said = nil
	return said
}
