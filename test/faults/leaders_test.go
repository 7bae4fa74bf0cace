package faults_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

const leaderMetric = `leader_election_master_status{name="kube-system/holdfast-controllers"} 1`

// noticing is how long a server may run the controllers beside another one: when it was paused, it takes a moment to notice that it
// has lost the Lease. It is longer than the server needs, because the machine may be busy, above all in the short form.
func noticing() time.Duration { return either(time.Minute, 3*time.Second) }

// leaders samples which servers run the controllers.
type leaders struct {
	running      sync.WaitGroup
	samples, one int
	// both is the longest time with two leaders.
	both time.Duration
}

// watchLeaders asks two servers again and again until ctx ends.
func watchLeaders(ctx context.Context, servers []*server) *leaders {
	l := &leaders{}
	l.running.Go(func() {
		var since time.Time
		for ; ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
			first, second := leads(ctx, servers[0]), leads(ctx, servers[1])
			// Two leaders count if the first one is still the leader after the other one was asked.
			if two := first && second && leads(ctx, servers[0]); !two {
				since = time.Time{}
			} else if since.IsZero() {
				since = time.Now()
			} else {
				l.both = max(l.both, time.Since(since))
			}
			if l.samples++; first != second {
				l.one++
			}
		}
	})
	return l
}

// leads asks a server whether it runs the controllers. A server that does not answer runs none.
func leads(ctx context.Context, s *server) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	text, err := s.client.Load().rest.Get().RequestURI("/metrics").MaxRetries(0).Do(ctx).Raw()
	return err == nil && strings.Contains(string(text), leaderMetric)
}

// check fails the test if there were two leaders, or none at all. The sampling must have ended.
func (l *leaders) check(t *testing.T) {
	t.Helper()
	l.running.Wait()
	t.Logf("one server ran the controllers in %d of %d samples; two servers ran them for %s at most",
		l.one, l.samples, l.both.Round(time.Millisecond))
	if l.both > noticing() {
		t.Errorf("two servers ran the controllers for %s", l.both)
	}
	if l.one == 0 {
		t.Error("no server ever ran the controllers")
	}
}
