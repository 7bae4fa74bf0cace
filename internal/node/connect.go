package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The client-side rate limit in requests per second, as in the kubelet.
const (
	clientRate  = 50
	clientBurst = 100
)

// watchSlack is how much earlier than its timeout a watch may end and still count
// as ended by the timeout. The clocks of two hosts do not run at the same speed.
const watchSlack = time.Second

// Connect returns the client of an agent. After an outage of the server, the
// clients of many agents reconnect spread over time instead of all at once. config
// holds the credential of the node; Connect does not change it.
//
// The client suspects an outage when a watch ends before its timeout. An outage is
// certain when a request does not reach the server. In both cases the lists and watches
// of the agent wait, and the client sends one request at a time as a probe of the
// server: the first after a random delay, the next ones with increasing delays. Other
// requests are sent while an outage is only suspected. While it is certain, they fail at
// once and are not sent, unless a probe is due. The first response of the server ends
// the outage.
//
// tell, unless it is nil, is called with a line of text when the outage begins and
// with another when it ends.
func Connect(config *rest.Config, tell func(line string)) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = clientRate, clientBurst
	if tell == nil {
		tell = func(string) {}
	}
	availability := newAvailability(tell)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &connection{availability, next} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", config.Host, err)
	}
	return client, nil
}

// waitKey is the context key of requests that wait for the server during an outage.
type waitKey struct{}

// waitForServer returns a context for lists and watches. During an outage of the server,
// requests with this context wait until it is over; all others return an error.
func waitForServer(ctx context.Context) context.Context {
	return context.WithValue(ctx, waitKey{}, true)
}

func waitsForServer(ctx context.Context) bool { return ctx.Value(waitKey{}) != nil }

// connection sends the requests of one agent.
type connection struct {
	availability *availability
	next         http.RoundTripper
}

// RoundTrip implements http.RoundTripper. It repeats only requests that wait for
// the server and have no body, which is true for lists and watches.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	for {
		permit, err := c.availability.wait(ctx)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		response, err := c.next.RoundTrip(request)
		outage := false
		switch {
		case ctx.Err() != nil:
			c.availability.release(permit)
		case err != nil:
			outage = c.availability.failed(permit, err)
		case overloaded(response):
			outage = c.availability.rejected(permit, fmt.Errorf("it answers %s", response.Status))
		default:
			c.availability.answered(permit)
			return c.watched(request, response, begin), nil
		}
		if !outage || !waitsForServer(ctx) || (request.Body != nil && request.Body != http.NoBody) {
			return response, err
		}
		if response != nil {
			_ = response.Body.Close()
		}
	}
}

// overloaded reports whether the server, or a proxy in front of it, rejects the
// request because of load.
func overloaded(response *http.Response) bool {
	return response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
}

// watched wraps the body of a watch response. A watch that ends before its timeout
// makes the client suspect an outage.
func (c *connection) watched(request *http.Request, response *http.Response, begin time.Time) *http.Response {
	query := request.URL.Query()
	if isWatch, _ := strconv.ParseBool(query.Get("watch")); !isWatch || response.StatusCode != http.StatusOK {
		return response
	}
	seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
	if err != nil {
		return response // the watch has no timeout
	}
	due := begin.Add(time.Duration(seconds)*time.Second - watchSlack)
	response.Body = &watchBody{ReadCloser: response.Body, ctx: request.Context(), ended: func(rejected bool) {
		if !rejected && time.Now().Before(due) {
			c.availability.suspect()
		}
	}}
	return response
}

// watchHead is the number of bytes at the start of a watch that contain the type of
// the first event. Both the JSON and the protobuf encoding begin with the type.
const watchHead = 16

// watchBody is the response body of a watch.
type watchBody struct {
	io.ReadCloser
	ctx  context.Context
	head []byte
	// ended is called once, when the watch ends. rejected is true if the first event
	// is an error, for example because the resourceVersion is too old. The server
	// has then answered, so the early end of the watch is no outage.
	ended func(rejected bool)
}

// Read implements io.Reader.
func (b *watchBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if missing := watchHead - len(b.head); missing > 0 {
		b.head = append(b.head, into[:min(n, missing)]...)
	}
	if err != nil && b.ctx.Err() == nil && b.ended != nil {
		b.ended(bytes.Contains(b.head, []byte(watch.Error)))
		b.ended = nil
	}
	return n, err
}
