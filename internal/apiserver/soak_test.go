package apiserver_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

const (
	soakClients = 16
	soakObjects = 50 // of each client
	soakBytes   = 2 << 10
	// soakLimit is the documented bound, in MB of resident memory.
	soakLimit = 600
)

// soakTime returns how long the test writes: three seconds, or the time that make soak
// sets.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HOLDFAST_SOAK")
	if text == "" {
		return 3 * time.Second
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return duration
}

// Memory does not grow with the number of writes: the watch cache and etcd keep a bounded
// number of events. Audits compare the caches with etcd meanwhile, and find no difference.
func TestSoakMemory(t *testing.T) {
	server := servertest.StartProcess(t, apiserver.Config{DataDir: t.TempDir(), CacheAuditInterval: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), soakTime(t))
	defer cancel()

	var writes atomic.Int64
	var clients sync.WaitGroup
	for i := range soakClients {
		client := server.Client(t)
		clients.Go(func() {
			if err := rewrite(ctx, client, i, &writes); err != nil {
				t.Error(err)
			}
		})
	}
	peak := 0
	// The poll ends with ctx; its error says only that.
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		rss := residentMB(t, server.PID())
		peak = max(peak, rss)
		return false, nil
	})
	clients.Wait()
	t.Logf("%d writes of %d bytes by %d clients in %s: peak %d MB resident", writes.Load(), soakBytes, soakClients, soakTime(t), peak)
	for line := range strings.Lines(metrics(t, server.Client(t))) {
		if name, n, ok := strings.Cut(line, "} "); ok && strings.HasPrefix(name, "holdfast_cache_audit_differences_total{") && strings.TrimSpace(n) != "0" {
			t.Errorf("a cache differed from etcd: %s", line)
		}
	}
	if writes.Load() == 0 {
		t.Error("nothing was written")
	}
	if peak > soakLimit && !raceDetector {
		t.Errorf("peak is %d MB, the promise is %d MB", peak, soakLimit)
	}
}

// rewrite updates the objects of one client, one after the other, until ctx ends.
func rewrite(ctx context.Context, client kubernetes.Interface, number int, writes *atomic.Int64) error {
	configMaps := client.CoreV1().ConfigMaps("default")
	payload := strings.Repeat("x", soakBytes-16)
	for i := 0; ctx.Err() == nil; i++ {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("soak-%d-%d", number, i%soakObjects)},
			Data:       map[string]string{"payload": strconv.Itoa(i) + payload},
		}
		var err error
		if i < soakObjects {
			_, err = configMaps.Create(ctx, object, metav1.CreateOptions{})
		} else {
			_, err = configMaps.Update(ctx, object, metav1.UpdateOptions{})
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		writes.Add(1)
	}
	return nil
}

// metrics returns the metrics of a server.
func metrics(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// residentMB returns the resident memory of a process in MB.
func residentMB(t testing.TB, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes >> 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
