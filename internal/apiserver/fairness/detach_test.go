package fairness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// withTimeout puts the filter of upstream around a handler, which ends a request with its context.
func withTimeout(next http.Handler) http.Handler {
	resolver := &request.RequestInfoFactory{}
	never := func(*http.Request, *request.RequestInfo) bool { return false }
	return filters.WithRequestInfo(genericfilters.WithTimeoutForNonLongRunningRequests(next, never), resolver)
}

// A client cancels requests while the server works on them. The server works on at most one request for
// each stream of the connection, whether or not its client has cancelled it.
func TestCancelledWorkIsBounded(t *testing.T) {
	const streams, requests = 10, 50
	work, started := make(chan struct{}), make(chan struct{}, requests)
	var ended sync.WaitGroup
	ended.Add(streams)
	server := httptest.NewUnstartedServer(Detach(withTimeout(Attach(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		started <- struct{}{}
		<-work
		// The handlers learn that the client has cancelled the request.
		<-req.Context().Done()
		ended.Done()
	})))))
	server.EnableHTTP2 = true
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams}
	server.StartTLS()
	defer server.Close()
	for i := range requests {
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			if answered, err := get(ctx, server); err == nil {
				_ = answered.Body.Close()
			}
		}()
		if i < streams {
			<-started
		}
		cancel()
		<-sent
	}
	if len(started) > 0 {
		t.Errorf("the server works on %d cancelled requests, want %d", streams+len(started), streams)
	}
	close(work)
	ended.Wait()
}

func get(ctx context.Context, server *httptest.Server) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	return server.Client().Do(req)
}

// On HTTP/1, too, the client of a body that does not arrive in time gets an answer that says so.
func TestSlowBodyIsAnswered(t *testing.T) {
	server := httptest.NewTLSServer(withBodies(Detach(withTimeout(Attach(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		bodyOf(req.Context()).receive()
		_, err := io.ReadAll(req.Body)
		http.Error(w, fmt.Sprint(err), http.StatusRequestTimeout)
	})))), 100, 10*time.Millisecond))
	defer server.Close()
	body, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	answered, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answered.Body.Close() }()
	line, err := bufio.NewReader(answered.Body).ReadString('\n')
	if want := tooSlow(10*time.Millisecond).Error() + "\n"; answered.StatusCode != http.StatusRequestTimeout || line != want {
		t.Errorf("got %s %q, %v, want 408 %q", answered.Status, line, err, want)
	}
}

// countedLevels counts the requests that reach the priority levels.
type countedLevels struct {
	flowcontrol.Interface
	requests int
}

func (l *countedLevels) Handle(
	ctx context.Context, _ flowcontrol.RequestDigest, _ func(*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, string),
	_ func() fcrequest.WorkEstimate, _ fq.QueueNoteFn, execute func(),
) {
	l.requests++
	if ctx.Err() == nil {
		execute()
	}
}

// A request that its client has cancelled does not reach the priority levels.
func TestCancelledRequestTakesNoSeat(t *testing.T) {
	counted := &countedLevels{}
	levels := NewFlowControl(counted)
	for _, cancelled := range []bool{false, true} {
		client, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if cancelled {
			cancel(errors.New("the client has gone"))
		}
		left, executed, noted := false, false, false
		ctx := context.WithValue(t.Context(), detachedKey{}, &detached{client: client, leave: func() { left = true }, answer: &answer{}})
		note := func(*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, string) { noted = true }
		levels.Handle(ctx, flowcontrol.RequestDigest{User: &user.DefaultInfo{Name: "u"}}, note, nil, nil, func() { executed = true })
		if executed == cancelled || noted != cancelled || !left {
			t.Errorf("cancelled %t: executed %t, refused %t, left the entrance %t", cancelled, executed, noted, left)
		}
	}
	if counted.requests != 1 {
		t.Errorf("%d requests reached the priority levels, want 1", counted.requests)
	}
}
