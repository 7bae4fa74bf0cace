package garbage_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/pasttest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestOrphanedBeforeItIsSeen checks that a dependent stays if its owner is deleted with the policy Orphan before the collector has seen the
// dependent, because the watch of its kind is late.
func TestOrphanedBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	config, watched, release := withLateLeases(c.Config)
	f := newFamily(t, c, "late")
	collect(t, config, nil)
	waittest.Receive(t, "the watch of leases", watched)
	script := f.script(`
		create cm/owner
		create lease/child<cm/owner
		delete Orphan cm/owner
		await gone cm/owner
	`, "lease/child")
	take := func(steps []pasttest.Step) {
		for _, step := range steps {
			if step.Write != nil {
				if err := step.Write(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if step.Wait != nil {
				waittest.Until(t, step.Name, func() error { return step.Wait(t.Context()) })
			}
		}
	}
	take(script.Steps)
	release()
	take(script.Last)
	if state, err := script.State(t.Context()); err != nil || state != script.Want {
		t.Errorf("got %q, want %q (%v)", state, script.Want, err)
	}
}

// withLateLeases returns a client config whose watches of leases show nothing until release is called. watched is closed when the first one
// begins.
func withLateLeases(from *rest.Config) (config *rest.Config, watched <-chan struct{}, release func()) {
	began, open := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(began) })
	config = rest.CopyConfig(from)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			leases, query := strings.HasSuffix(request.URL.Path, "/leases"), request.URL.Query()
			if leases && query.Get("sendInitialEvents") != "" {
				return nil, errors.New("the collector lists first") // so that its watch has no event but the late ones
			}
			response, err := next.RoundTrip(request)
			if err == nil && leases && query.Get("watch") != "" {
				once()
				response.Body = lateBody{response.Body, request.Context(), open}
			}
			return response, err
		})
	})
	return config, began, func() { close(open) }
}

// lateBody is a body that shows nothing until open is closed.
type lateBody struct {
	io.ReadCloser
	ctx  context.Context
	open <-chan struct{}
}

func (b lateBody) Read(p []byte) (int, error) {
	select {
	case <-b.open:
		return b.ReadCloser.Read(p)
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}
