package fairness

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// hurried is a server behind Detach, and clients that cancel their requests.
type hurried struct {
	t       *testing.T
	handler http.Handler
	// begun is the number of requests that the server began to serve.
	begun int
	// cancel ends the request that the server serves, after a time.
	cancel func()
}

func newHurried(t *testing.T) *hurried {
	h := &hurried{t: t}
	h.handler = Detach(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		h.begun++
		h.cancel()
	}))
	return h
}

// send sends a request that its client cancels after a time.
func (h *hurried) send(token string, after time.Duration) {
	ctx, cancel := context.WithTimeout(h.t.Context(), after)
	defer cancel()
	h.cancel = func() { <-ctx.Done() }
	h.serve(ctx, token)
}

// finish sends a request and waits for its answer. It returns how long that took.
func (h *hurried) finish(token string) time.Duration {
	h.cancel = func() {}
	begin := time.Now()
	h.serve(h.t.Context(), token)
	return time.Since(begin)
}

func (h *hurried) serve(ctx context.Context, token string) {
	// Detach aborts a request that was cancelled before it began.
	defer func() { _ = recover() }()
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	req.Header.Set("Authorization", "Bearer "+token)
	h.handler.ServeHTTP(httptest.NewRecorder(), req)
}

// A client cancels each of its requests after a millisecond. The server begins the requests of its credit, and
// then some in a second.
func TestHastyClientWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHurried(t)
		for begin := time.Now(); time.Since(begin) < time.Minute; {
			h.send("hasty", time.Millisecond)
		}
		most := int((time.Minute + paceCredit + paceWait) / paceInterval)
		if h.begun > most || h.begun < int(paceCredit/paceInterval) {
			t.Errorf("the server began %d requests in a minute, want at most %d", h.begun, most)
		}
		if took := h.finish("other"); took > 0 {
			t.Errorf("a request of another client waited for %s", took)
		}
		if took := h.finish("hasty"); took > paceWait {
			t.Errorf("a request of the client that is not cancelled waited for %s, want at most %s", took, paceWait)
		}
		time.Sleep(paceCredit + paceWait)
		if took := h.finish("hasty"); took > 0 {
			t.Errorf("after a pause, a request waited for %s", took)
		}
	})
}

// A client that ends its requests after a second, as watches end, does not wait.
func TestSlowCancellationsAreFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHurried(t)
		requests := 2 * int(paceCredit/paceInterval)
		for range requests {
			h.send("patient", hasty)
		}
		if h.begun != requests {
			t.Errorf("the server began %d requests, want %d", h.begun, requests)
		}
		if took := h.finish("patient"); took > 0 {
			t.Errorf("a request waited for %s", took)
		}
	})
}

// The server forgets clients that owe nothing.
func TestPaceForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		for i := range 10_000 {
			p.charge(payer{byte(i), byte(i >> 8)})
			time.Sleep(paceInterval)
		}
		most := 2 * (int((paceCredit+paceWait)/paceInterval) + 2)
		if kept := len(p.debts) + len(p.older); kept > most {
			t.Errorf("the server knows %d clients, want at most %d", kept, most)
		}
	})
}
