package fairness

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// burst sends the bodies of n requests of one user. They arrive when n-open of the requests were
// refused. The result is the number of bodies that were received.
func burst(ctx context.Context, c *control, n, open int) int {
	var received, refused atomic.Int64
	arrive := make(chan struct{})
	if n == open {
		close(arrive)
	}
	var all sync.WaitGroup
	for range n {
		reader, writer := io.Pipe()
		go func() {
			<-arrive
			_ = writer.Close()
		}()
		all.Go(func() {
			b := &body{client: reader, limit: 100, timeout: time.Minute, deadline: func(time.Time) error { return nil }}
			if c.receive(ctx, b, &user.DefaultInfo{Name: "controller"}) {
				received.Add(1)
			} else if refused.Add(1) == int64(n-open) {
				close(arrive)
			}
		})
	}
	all.Wait()
	return int(received.Load())
}

func TestBurst(t *testing.T) {
	t.Parallel()
	const all = maxArriving + maxWaiting
	ended, end := context.WithCancel(t.Context())
	end()
	tests := map[string]struct {
		ctx            context.Context //nolint:containedctx // the context of one case
		timeout        time.Duration
		sent, received int
	}{
		"more bodies than arrive at a time wait for their turn": {sent: 5 * maxArriving, received: 5 * maxArriving},
		"too many are refused at once":                          {sent: all + 10, received: all},
		"a turn that does not come":                             {timeout: time.Nanosecond, sent: maxArriving + 10, received: maxArriving},
		"the client is gone":                                    {ctx: ended, sent: maxArriving + 10, received: maxArriving},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			c := &control{timeout: time.Minute, users: map[string]*arrivals{}}
			if test.timeout > 0 {
				c.timeout = test.timeout
			}
			if got := burst(ctx, c, test.sent, test.received); got != test.received {
				t.Errorf("%d bodies were received, want %d", got, test.received)
			}
			if len(c.users) > 0 {
				t.Errorf("the server still counts the requests of %d users", len(c.users))
			}
		})
	}
}
