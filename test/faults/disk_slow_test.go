package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
)

// The disk of a server becomes slow: each sync takes up to half a second longer, in the long form up to a second, and sometimes
// longer than etcd waits. The server answers every request, rightly or with an error after which a client tries again. `holdfast
// doctor` names the disk, and the metric of the alert about etcd shows it. When the disk is fast again, so is the server, and every
// acknowledged write is there.
func TestDiskSlow(t *testing.T) {
	t.Parallel()
	s := newSeed(t)
	server := newServer(filepath.Join(t.TempDir(), "data"))
	disk := startOnSlowDisk(t, server)
	c := server.client.Load()
	prepare(t, c)
	ledger := newLedger()
	stop := writeWithoutPause(t, c, newWriters(s, ledger))
	defer stop()
	ledger.await(t, 20)

	delay := delays(s.random("delays"))
	before, begin := etcdRequests(t, c), time.Now()
	disk.delay.Store(&delay)
	ledger.await(t, ledger.count.Load()+int64(either(10, 300)))
	waittest.Until(t, "holdfast doctor finds the slow disk", func() error { return findsSlowDisk(server) })
	took, after := time.Since(begin), etcdRequests(t, c)
	if all, slow := after.all-before.all, after.slow-before.slow; slow*100 <= all {
		t.Errorf("%d of %d requests to etcd were slow: the alert HoldfastEtcdSlow does not fire", slow, all)
	}

	disk.delay.Store(nil)
	ledger.await(t, ledger.count.Load()+int64(either(20, 100)))
	waittest.Until(t, "the server is ready again", func() error { return c.rest.Get().RequestURI("/readyz").Do(t.Context()).Error() })
	waittest.Until(t, "holdfast doctor finds no slow disk", func() error {
		if err := findsSlowDisk(server); !errors.Is(err, errDiskFast) {
			return fmt.Errorf("the disk is fast, and holdfast doctor: %w", err)
		}
		return nil
	})
	stop()
	ledger.settle(t, c)
	checkPlans(t, c)
	checkQuotas(t, c)
	t.Logf("%d acknowledged writes and %d open ones; %d slow syncs in %s",
		ledger.count.Load(), ledger.opened.Load(), disk.delayed.Load(), took.Round(time.Second))
}

// delays returns how much longer each sync takes. In the long form, the disk hangs sometimes, for longer than etcd waits for a write.
func delays(random *rand.Rand) func() time.Duration {
	shortest, longest := 100*time.Millisecond, either(500*time.Millisecond, time.Second)
	return func() time.Duration {
		if long() && random.IntN(30) == 0 {
			return 8 * time.Second
		}
		return shortest + time.Duration(random.Int64N(int64(longest-shortest)))
	}
}

// writeWithoutPause lets all writers write until stop is called; stop waits for the last answers. A writer goes on after an error: the
// error must tell a client to try again. stop may be called more than once.
func writeWithoutPause(t *testing.T, c *client, writers []*writer) (stop func()) {
	stopped := make(chan struct{})
	var running sync.WaitGroup
	for _, w := range writers {
		running.Go(func() {
			for {
				select {
				case <-stopped:
					return
				default:
				}
				// A full quota and a conflict with a controller are right answers.
				a := w.write(t.Context(), t, c)
				right := a.err == nil || a.code == http.StatusForbidden || a.code == http.StatusConflict
				if !right && !retryable(a) {
					t.Errorf("%s: code %d: %v", w.resource, a.code, a.err)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(stopped)
		running.Wait()
	})
}

var errDiskFast = errors.New("the disk is not slow")

// findsSlowDisk returns nil if `holdfast doctor` finds that the disk is slow, and errDiskFast if it is not.
func findsSlowDisk(s *server) error {
	doctor := exec.Command(filepath.Join(programs, "holdfast"), "doctor", "--kubeconfig", s.kubeconfig(), "-o", "json")
	out, err := doctor.Output()
	var report struct {
		Checks []struct{ Check, Message string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return err
	}
	examined := false
	for _, c := range report.Checks {
		slow := strings.Contains(c.Message, "to reach the disk") || strings.Contains(c.Message, "not on the disk")
		if c.Check == "disk" && slow {
			return nil
		}
		examined = examined || c.Check == "disk"
	}
	if examined {
		return errDiskFast
	}
	return fmt.Errorf("it has not examined the disk: %w: %s", err, out)
}

// etcdDurations counts the requests to etcd: all, and those that took longer than the alert HoldfastEtcdSlow allows.
type etcdDurations struct{ all, slow int }

// etcdRequests reads the metric of the alert HoldfastEtcdSlow, for writes.
func etcdRequests(t *testing.T, c *client) etcdDurations {
	t.Helper()
	text, err := c.rest.Get().RequestURI("/metrics").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var d etcdDurations
	line := regexp.MustCompile(`(?m)^etcd_request_duration_seconds_bucket\{.*operation="(?:create|update)".*le="(0\.6|\+Inf)"\} (\d+)$`)
	for _, match := range line.FindAllSubmatch(text, -1) {
		count, err := strconv.Atoi(string(match[2]))
		if err != nil {
			t.Fatal(err)
		}
		if string(match[1]) == "+Inf" {
			d.all += count
			d.slow += count
		} else {
			d.slow -= count
		}
	}
	if d.all == 0 {
		t.Fatal("the server has no metric etcd_request_duration_seconds")
	}
	return d
}
