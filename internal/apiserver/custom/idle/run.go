package idle

import (
	"context"
	"time"
)

const (
	// after is the time without a request after which something is closed.
	after = 10 * time.Minute
	// interval is the time between two calls.
	interval = time.Minute
)

// run calls closeUnused every interval until ctx ends.
func run(ctx context.Context, closeUnused func(since time.Time)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			closeUnused(now.Add(-after))
		}
	}
}
