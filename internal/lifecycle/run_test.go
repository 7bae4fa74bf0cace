package lifecycle_test

import (
	"bytes"
	"context"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestOnlyLeaderRuns checks that only the leader sends requests, and that another process
// takes over when the leader stops.
func TestOnlyLeaderRuns(t *testing.T) {
	t.Parallel()
	c := startLedBy(t, "first")
	first, firstRequests := c.countRequests()
	stopFirst := start(t, lifecycle.Config{Client: first, Identity: "first"})
	second, secondRequests := c.countRequests()
	start(t, lifecycle.Config{Client: second, Identity: "second"})

	c.createNamespace(t, "one")
	c.deleteNamespace(t, "one")
	waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, "one") })
	if n := firstRequests.Load(); n == 0 {
		t.Error("the leader sent no request")
	}
	// If a busy machine stops the renewals for longer than the Lease lasts, the second process leads.
	if n := secondRequests.Load(); n != 0 && c.transitions(t) == 0 {
		t.Errorf("a process that is not the leader sent %d requests", n)
	}

	stopFirst()
	if leader := c.leader(t); leader == "first" {
		t.Error("the leader has stopped, but still holds the Lease")
	}
	before := firstRequests.Load()
	c.createNamespace(t, "two")
	c.deleteNamespace(t, "two")
	waittest.Until(t, "another leader removes the namespace", func() bool { return c.namespaceGone(t, "two") })
	if n := firstRequests.Load() - before; n != 0 {
		t.Errorf("the stopped leader sent %d requests", n)
	}
}

func TestDeadLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	c := startLedBy(t, "other")
	servertest.SetLeader(t, c, "dead", 8*time.Second)
	start(t, lifecycle.Config{Client: c.Config})
	c.createNamespace(t, "shop")
	c.deleteNamespace(t, "shop")
	waittest.Until(t, "another leader removes the namespace", func() bool { return c.namespaceGone(t, "shop") })
}

// TestElectionConstants checks what follows from the constants of the election: another
// process takes over from a dead leader within 15 seconds, a leader that cannot renew its
// Lease stops before that, and one request without a response does not cost the Lease.
func TestElectionConstants(t *testing.T) {
	t.Parallel()
	// A candidate reads the Lease every 1 to 2.2 retry periods, because of the elector's
	// jitter: once to see the last renewal, and once more after the Lease has expired.
	interval := lifecycle.RetryPeriod * 22 / 10
	if takeover := interval + lifecycle.LeaseDuration + interval; takeover > 15*time.Second {
		t.Errorf("a takeover may take %s", takeover)
	}
	if lifecycle.RenewDeadline >= lifecycle.LeaseDuration {
		t.Error("there may be two leaders at the same time")
	}
	if lifecycle.RetryPeriod+2*lifecycle.LeaseTimeout > lifecycle.RenewDeadline+lifecycle.RetryPeriod {
		t.Error("after one request without a response, there is no time for another")
	}
}

// TestLeaderAfterLostLease checks that a process that lost the Lease becomes leader again.
func TestLeaderAfterLostLease(t *testing.T) {
	t.Parallel()
	c := startLedBy(t, "test")
	start(t, lifecycle.Config{Client: c.Config, Identity: "test"})
	c.createNamespace(t, "one")
	c.deleteNamespace(t, "one")
	waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, "one") })

	// Another process takes the Lease and does not renew it.
	servertest.SetLeader(t, c, "other", 8*time.Second)
	waittest.Until(t, "the Lease has another holder", func() bool {
		leader := c.leader(t)
		return leader != "" && leader != "other"
	})
	c.createNamespace(t, "two")
	c.deleteNamespace(t, "two")
	waittest.Until(t, "namespace gone after the Lease was lost", func() bool { return c.namespaceGone(t, "two") })
}

// TestRunStopsGoroutines checks that all goroutines that Run started have ended when it
// returns.
func TestRunStopsGoroutines(t *testing.T) {
	t.Parallel()
	c := startLedBy(t, "test")
	config := rest.CopyConfig(c.Config)
	// A config with a proxy function does not share its connection with other clients.
	config.Proxy = http.ProxyFromEnvironment

	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	// A goroutine inherits the labels of the goroutine that starts it.
	pprof.Do(ctx, pprof.Labels("started-by", t.Name()), func(ctx context.Context) {
		go func() { result <- lifecycle.Run(ctx, lifecycle.Config{Client: config, Identity: "test"}) }()
	})
	c.createNamespace(t, "shop")
	c.createConfigMap(t, "shop", "plain")
	c.deleteNamespace(t, "shop")
	waittest.Until(t, "namespace gone", func() bool { return c.namespaceGone(t, "shop") })
	if labeled(t) == "" {
		t.Fatal("no goroutine has the label")
	}

	cancel()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	left := ""
	defer func() {
		if t.Failed() {
			t.Log(left)
		}
	}()
	// The goroutines of a connection end shortly after it is closed.
	waittest.Until(t, "no goroutine left", func() bool {
		left = labeled(t)
		return left == ""
	})
}

// labeled returns the stacks of the goroutines that have the label of this test.
func labeled(t *testing.T) string {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	var found []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, `"started-by":"`+t.Name()+`"`) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

func TestRunNeedsClient(t *testing.T) {
	t.Parallel()
	err := lifecycle.Run(t.Context(), lifecycle.Config{})
	if want := "client of the controllers: required"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
