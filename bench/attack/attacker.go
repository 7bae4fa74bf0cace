package attack

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// byteInterval is the time between two bytes of a slow body.
const byteInterval = time.Second

// pause is the time between the end of one slow body and the next.
const pause = time.Second

// attacker sends slow bodies.
type attacker struct {
	client *side.Client

	mu   sync.Mutex
	ends []end
}

// end is the end of one slow body by the server.
type end struct {
	// code is the status of the answer, or 0 if the connection ended without one.
	code  int
	after time.Duration
}

// run keeps n slow bodies open until ctx ends.
func (a *attacker) run(ctx context.Context, n int) {
	var bodies sync.WaitGroup
	for range n {
		bodies.Go(func() {
			for ctx.Err() == nil {
				a.sendOne(ctx)
				sleep(ctx, pause)
			}
		})
	}
	bodies.Wait()
}

// awaitRefusal waits until the server has refused a body because of the number of bodies, or until a time has passed.
func (a *attacker) awaitRefusal(ctx context.Context, atMost time.Duration) {
	for end := time.Now().Add(atMost); time.Now().Before(end) && ctx.Err() == nil && !a.wasRefused(); {
		sleep(ctx, 10*time.Millisecond)
	}
}

func (a *attacker) wasRefused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.ends, func(e end) bool { return e.code == http.StatusTooManyRequests })
}

// sendOne sends one slow body and records how the server ended it.
func (a *attacker) sendOne(ctx context.Context) {
	answered := make(chan struct{})
	body, feed := io.Pipe()
	go func() {
		defer func() { _ = feed.Close() }()
		next := "{"
		for {
			if _, err := io.WriteString(feed, next); err != nil {
				return
			}
			next = " "
			select {
			case <-answered:
				return
			case <-ctx.Done():
				return
			case <-time.After(byteInterval):
			}
		}
	}()
	defer close(answered)
	started := time.Now()
	code := a.status(ctx, body)
	if ctx.Err() != nil {
		return // this program has ended the body
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = append(a.ends, end{code: code, after: time.Since(started)})
}

// status sends a request that every user may send, and returns the status of the answer.
func (a *attacker) status(ctx context.Context, body io.Reader) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		a.client.URL+"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := a.client.HTTP.Do(req)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// sleep waits for a duration, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
