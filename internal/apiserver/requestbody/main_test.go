package requestbody_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

var (
	// shared is a server that all tests use. Each test has objects of its own.
	shared *client
	// recovered are the panics that handlers of the server recovered from.
	recovered panics
)

func TestMain(m *testing.M) {
	// The server reads this variable when a handler panics, so it is set before the start.
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, recovered.add)
	os.Exit(servertest.Main(m, func(config *rest.Config) (err error) {
		shared, err = newClient(config)
		return err
	}))
}

// panics collects recovered panics.
type panics struct {
	mu    sync.Mutex
	found []string
}

func (p *panics) add(_ context.Context, found any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, fmt.Sprint(found))
}

// all returns the panics so far.
func (p *panics) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.found
}

// client sends plain HTTP requests, so that tests choose every byte.
type client struct {
	http *http.Client
	url  string
}

func newClient(config *rest.Config) (*client, error) {
	c, err := rest.HTTPClientFor(config)
	return &client{http: c, url: config.Host}, err
}

// call is one request.
type call struct {
	method, path        string
	contentType, accept string
	body                []byte
}

// do sends a request and returns the status code and the body of the answer. Of a watch it
// returns the beginning of the first event. Like client-go, it sends the request again if the server
// answers 429: a busy server needs time to fill the cache of a resource that was just defined.
func (c *client) do(t testing.TB, r call) (code int, answer string) {
	t.Helper()
	waittest.Until(t, r.method+" "+r.path+" is answered", func() bool {
		code, answer = c.send(t, r)
		return code != http.StatusTooManyRequests
	})
	return code, answer
}

// send sends a request once, see do.
func (c *client) send(t testing.TB, r call) (code int, answer string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, c.url+r.path, bytes.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer func() { _ = res.Body.Close() }()
	from := io.Reader(res.Body)
	if req.URL.Query().Has("watch") && res.StatusCode == http.StatusOK {
		from = io.LimitReader(from, 16)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return res.StatusCode, string(data)
}

// must sends a request, and fails the test if the status code is not the given one.
func (c *client) must(t testing.TB, code int, r call) string {
	t.Helper()
	got, answer := c.do(t, r)
	if got != code {
		t.Fatalf("%s %s: got %d %s, want %d", r.method, r.path, got, answer, code)
	}
	return answer
}
