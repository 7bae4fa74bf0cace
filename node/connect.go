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

// The kubelet's figures, in requests per second.
const (
	clientRate  = 50
	clientBurst = 100
)

// watchSlack is how much before its time a watch may end: the clocks of two hosts
// do not run alike.
const watchSlack = time.Second

// Connect is the client that an agent needs: one that comes back to a server that
// was away without all agents coming at once. The configuration is that of the
// node's credential, and is not changed.
//
// A watch that breaks off without a word of the server, and a request that does
// not reach it, put the server in doubt. Then lists and watches of the agent wait,
// and one request at a time tries, the first after a time of chance, the next ones
// later and later. Once there is an answer all go on. What else the agent asks for
// fails meanwhile, without a request being made.
//
// tell, unless it is nil, gets a line when the server turns out to be away and one
// when it is back.
func Connect(config *rest.Config, tell func(line string)) (kubernetes.Interface, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = clientRate, clientBurst
	if tell == nil {
		tell = func(string) {}
	}
	presence := newPresence(tell)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &connection{presence, next} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of %s: %w", config.Host, err)
	}
	return client, nil
}

// waiting marks requests that wait for a server that is away.
type waiting struct{}

// patiently is for what has no use for an error while the server is away: lists
// and watches, which go on when it is back.
func patiently(ctx context.Context) context.Context {
	return context.WithValue(ctx, waiting{}, true)
}

func isPatient(ctx context.Context) bool { return ctx.Value(waiting{}) != nil }

// connection makes the requests of one agent.
type connection struct {
	presence *presence
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper. Only requests without a body are made
// again, which lists and watches are.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	for {
		turn, err := c.presence.wait(ctx)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		response, err := c.next.RoundTrip(request)
		absent := false
		switch {
		case ctx.Err() != nil:
			c.presence.leave(turn)
		case err != nil:
			absent = c.presence.failed(turn, err)
		case overloaded(response):
			absent = c.presence.refused(turn, fmt.Errorf("it answers %s", response.Status))
		default:
			c.presence.answered(turn)
			return c.watched(request, response, begin), nil
		}
		if !absent || !isPatient(ctx) || (request.Body != nil && request.Body != http.NoBody) {
			return response, err
		}
		if response != nil {
			_ = response.Body.Close()
		}
	}
}

// overloaded are the answers of a server, or of what stands before it, that
// wants to be left alone.
func overloaded(response *http.Response) bool {
	return response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
}

// watched has the end of a watch noticed that comes before its time.
func (c *connection) watched(request *http.Request, response *http.Response, begin time.Time) *http.Response {
	query := request.URL.Query()
	if isWatch, _ := strconv.ParseBool(query.Get("watch")); !isWatch || response.StatusCode != http.StatusOK {
		return response
	}
	seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
	if err != nil {
		return response // it has no time
	}
	due := begin.Add(time.Duration(seconds)*time.Second - watchSlack)
	response.Body = &watchBody{ReadCloser: response.Body, ctx: request.Context(), ended: func(refused bool) {
		if !refused && time.Now().Before(due) {
			c.presence.doubt()
		}
	}}
	return response
}

// watchHead is as much of a watch as tells what its first event is, however that
// is encoded: the type comes first.
const watchHead = 16

// watchBody is the body of a watch.
type watchBody struct {
	io.ReadCloser
	ctx  context.Context
	head []byte
	// ended is called once, when the watch ends, and told whether the server has
	// refused it: an error is then its first and only event, such as that it
	// begins too far back.
	ended func(refused bool)
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
