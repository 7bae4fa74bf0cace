// Package walltime notices that the clock of the machine was set.
//
//	go walltime.Watch(ctx, func(by time.Duration) { renew() })
//
// Timers follow the monotonic clock, which runs on evenly. A timer for the end of a certificate or a token therefore ends at the wrong
// time after the clock was set, or after the machine was suspended. Code with such timers looks again when Watch calls it.
package walltime

import (
	"context"
	"time"
)

const (
	// every is how often Watch looks at the clock.
	every = 5 * time.Second
	// tolerance is the smallest change that Watch reports. NTP corrects small differences all the time.
	tolerance = 30 * time.Second
)

// Watch calls set whenever the clock was set forward or back, with the difference, until ctx ends.
func Watch(ctx context.Context, set func(by time.Duration)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		if by := difference(last, now); by.Abs() >= tolerance {
			last = now
			set(by)
		}
	}
}

// difference returns by how much the clock was set between two times.
func difference(before, after time.Time) time.Duration {
	// Sub uses the monotonic clock, and Round removes it from a time.
	return after.Round(0).Sub(before.Round(0)) - after.Sub(before)
}
