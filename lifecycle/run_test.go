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

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/lifecycle"
)

func TestOneLeads(t *testing.T) {
	t.Parallel()
	c := newClusterLedBy(t, "first")
	first, firstRequests := c.counted()
	stopFirst := start(t, lifecycle.Config{Client: first, Identity: "first"})
	second, secondRequests := c.counted()
	start(t, lifecycle.Config{Client: second, Identity: "second"})

	c.createNamespace(t, "one")
	c.deleteNamespace(t, "one")
	servertest.Eventually(t, "namespace gone", func() bool { return c.namespaceGone(t, "one") })
	if n := firstRequests.Load(); n == 0 {
		t.Error("the leader did nothing")
	}
	if n := secondRequests.Load(); n != 0 {
		t.Errorf("who does not lead made %d requests", n)
	}

	stopFirst()
	if leader := c.leader(t); leader == "first" {
		t.Error("a leader that ended still holds the Lease")
	}
	before := firstRequests.Load()
	c.createNamespace(t, "two")
	c.deleteNamespace(t, "two")
	servertest.Eventually(t, "namespace gone by another leader", func() bool { return c.namespaceGone(t, "two") })
	if n := firstRequests.Load() - before; n != 0 {
		t.Errorf("a leader that ended made %d requests", n)
	}
}

func TestDeadLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	c := newClusterLedBy(t, "nobody")
	servertest.SetLeader(t, c, "dead", 8*time.Second)
	start(t, lifecycle.Config{Client: c.config})
	c.createNamespace(t, "shop")
	c.deleteNamespace(t, "shop")
	servertest.Eventually(t, "namespace gone by another leader", func() bool { return c.namespaceGone(t, "shop") })
}

// A leader that dies is replaced within 15 seconds, and one that cannot renew
// has stopped before anybody else starts.
func TestTakeoverFollowsFromTheLease(t *testing.T) {
	t.Parallel()
	// Candidates look after one period to 2.2, which is the elector's jitter: once
	// to see the last renewal, and once more after it ran out.
	look := lifecycle.RetryPeriod * 22 / 10
	if takeover := look + lifecycle.LeaseDuration + look; takeover > 15*time.Second {
		t.Errorf("a takeover may take %s", takeover)
	}
	if lifecycle.RenewDeadline >= lifecycle.LeaseDuration {
		t.Error("two may lead at a time")
	}
	if lifecycle.RetryPeriod+2*lifecycle.LeaseTimeout > lifecycle.RenewDeadline+lifecycle.RetryPeriod {
		t.Error("one request without an answer costs the lease")
	}
}

func TestLostLeaseIsWonAgain(t *testing.T) {
	t.Parallel()
	c := newClusterLedBy(t, "test")
	start(t, lifecycle.Config{Client: c.config, Identity: "test"})
	c.createNamespace(t, "one")
	c.deleteNamespace(t, "one")
	servertest.Eventually(t, "namespace gone", func() bool { return c.namespaceGone(t, "one") })

	// The thief renews once and dies.
	servertest.SetLeader(t, c, "thief", 8*time.Second)
	servertest.Eventually(t, "Lease taken from the dead thief", func() bool {
		leader := c.leader(t)
		return leader != "" && leader != "thief"
	})
	c.createNamespace(t, "two")
	c.deleteNamespace(t, "two")
	servertest.Eventually(t, "namespace gone after the Lease was lost", func() bool { return c.namespaceGone(t, "two") })
}

func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newClusterLedBy(t, "test")
	config := rest.CopyConfig(c.config)
	// With a proxy function the connection is not shared with other clients.
	config.Proxy = http.ProxyFromEnvironment

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	// Goroutines inherit the label of the one that starts them.
	pprof.Do(ctx, pprof.Labels("started-by", t.Name()), func(ctx context.Context) {
		go func() { ended <- lifecycle.Run(ctx, lifecycle.Config{Client: config, Identity: "test"}) }()
	})
	c.createNamespace(t, "shop")
	c.createConfigMap(t, "shop", "plain")
	c.deleteNamespace(t, "shop")
	servertest.Eventually(t, "namespace gone", func() bool { return c.namespaceGone(t, "shop") })
	if labeled(t) == "" {
		t.Fatal("the label does not show what runs")
	}

	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	left := ""
	defer func() {
		if t.Failed() {
			t.Log(left)
		}
	}()
	// A connection needs a moment to close.
	servertest.Eventually(t, "no goroutine left", func() bool {
		left = labeled(t)
		return left == ""
	})
}

// labeled are the goroutines that carry the label of this test.
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
