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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	soakClients = 16 // of ConfigMaps
	soakCustom  = 4  // clients of custom resources
	soakObjects = 50 // of each client
	soakBytes   = 2 << 10
	// soakLimit is the documented bound, in MB of resident memory. What is live, the garbage between two collections, and the files that the
	// process has mapped come together.
	soakLimit = 1000
	// soakKind is the plural of the custom resources.
	soakKind = "chimes"
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

// Memory does not grow with the number of writes: the watch cache, etcd and the caches of custom resources keep a bounded
// number of entries. The log has the memory at each fifth of the run, after a collection of
// garbage; the caches are full after half an hour. Audits compare the caches with etcd meanwhile, and after the last write, and find no difference.
func TestSoakMemory(t *testing.T) {
	server := servertest.StartProcess(t, apiserver.Config{DataDir: t.TempDir(), CacheAuditInterval: time.Second, Profiling: true})
	defineAudited(t, dynamic.NewForConfigOrDie(server.ClientConfig(t)), soakKind)
	began, duration := time.Now(), soakTime(t)
	ctx, cancel := context.WithDeadline(t.Context(), began.Add(duration))
	defer cancel()

	var writes, customWrites atomic.Int64
	var clients sync.WaitGroup
	// A client that writes holds pause for reading.
	var pause sync.RWMutex
	for i := range soakClients {
		client := server.Client(t)
		clients.Go(func() {
			if err := rewrite(ctx, client, i, &pause, &writes); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range soakCustom {
		client := dynamic.NewForConfigOrDie(server.ClientConfig(t))
		clients.Go(func() {
			if err := rewriteCustom(ctx, client, i, &pause, &customWrites); err != nil {
				t.Error(err)
			}
		})
	}
	peak := 0
	for fifth := range 5 {
		highest := peakUntil(t, server, began.Add(duration/5*time.Duration(fifth+1)))
		// Otherwise all memory that is allocated during a collection counts as live, and on a busy machine that takes long.
		pause.Lock()
		collect(t, server.Client(t))
		figures := metrics(t, server.Client(t))
		pause.Unlock()
		t.Logf("after %s: %d writes of ConfigMaps and %d of custom resources, %d MB of live heap with %d MB of texts in caches, "+
			"at most %d MB resident since the line before", time.Since(began).Round(time.Second/10), writes.Load(), customWrites.Load(),
			metricMB(t, figures, "go_gc_heap_live_bytes"), metricMB(t, figures, "holdfast_cache_bytes"), highest)
		peak = max(peak, highest)
	}
	clients.Wait()
	t.Logf("%d writes of %d bytes by %d clients in %s: peak %d MB resident",
		writes.Load()+customWrites.Load(), soakBytes, soakClients+soakCustom, duration, peak)
	checkAudits(t, server)
	if writes.Load() == 0 || customWrites.Load() == 0 {
		t.Errorf("%d writes of ConfigMaps and %d of custom resources", writes.Load(), customWrites.Load())
	}
	if peak > soakLimit && !raceDetector {
		t.Errorf("peak is %d MB, the promise is %d MB", peak, soakLimit)
	}
}

// collect lets a server collect its garbage.
func collect(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	if _, err := client.CoreV1().RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").DoRaw(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// peakUntil reads the resident memory of a server each second, and at the end, and returns the highest in MB.
func peakUntil(t *testing.T, server *servertest.Process, end time.Time) (peak int) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	// The poll ends with ctx; its error says only that.
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(context.Context) (bool, error) {
		peak = max(peak, residentMB(t, server.PID()))
		return false, nil
	})
	return max(peak, residentMB(t, server.PID()))
}

// checkAudits waits until the server has audited all caches once more, after the last write, and fails the test if an audit of the run has
// found a difference, or if a cache had no entry to compare.
func checkAudits(t *testing.T, server *servertest.Process) {
	t.Helper()
	// The list lets the server cache the texts of all objects.
	if _, err := auditedObjects(dynamic.NewForConfigOrDie(server.ClientConfig(t)), soakKind, "v1").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	client, written := server.Client(t), time.Now()
	var figures map[string]float64
	waittest.Until(t, "an audit that began after the last write has compared all caches", func() error {
		figures = auditFigures(t, metrics(t, client))
		began := figures["last_success_timestamp_seconds"] - figures["duration_seconds"]
		if began < float64(written.UnixMilli())/1000 {
			return fmt.Errorf("the figures are %v", figures)
		}
		return nil
	})
	t.Logf("audits: %v", figures)
	if _, isAudited := figures[`differences_total{cache="watch"}`]; !isAudited {
		t.Errorf("the watch caches were not audited")
	}
	for name, n := range figures {
		cache, isDifference := strings.CutPrefix(name, "differences_total")
		switch {
		case !isDifference:
		case n != 0:
			t.Errorf("%v entries of a cache differed from etcd: %s", n, cache)
		case figures["entries_total"+strings.TrimSuffix(cache, "}")+`,result="same"}`] == 0:
			t.Errorf("no entry of a cache was compared: %s", cache)
		}
	}
}

// rewrite updates the objects of one client, one after the other, until ctx ends.
func rewrite(ctx context.Context, client kubernetes.Interface, number int, pause *sync.RWMutex, writes *atomic.Int64) error {
	configMaps := client.CoreV1().ConfigMaps("default")
	payload := strings.Repeat("x", soakBytes-16)
	for i := 0; ctx.Err() == nil; i++ {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("soak-%d-%d", number, i%soakObjects)},
			Data:       map[string]string{"payload": strconv.Itoa(i) + payload},
		}
		if err := confirmed(ctx, pause, func() (err error) {
			if i < soakObjects {
				_, err = configMaps.Create(ctx, object, metav1.CreateOptions{})
			} else {
				_, err = configMaps.Update(ctx, object, metav1.UpdateOptions{})
			}
			return err
		}); err != nil {
			return err
		}
		writes.Add(1)
	}
	return nil
}

// confirmed sends a write until etcd has confirmed it, or ctx ends. On a busy machine, the disk may take longer than the server waits. The write
// may be stored all the same: then a create finds its object, and a delete does not.
func confirmed(ctx context.Context, pause *sync.RWMutex, write func() error) error {
	pause.RLock()
	defer pause.RUnlock()
	err := write()
	for apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		if err = write(); apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			err = nil
		}
	}
	if ctx.Err() != nil {
		err = nil // when the time is over, a request is cancelled
	}
	return err
}

// rewriteCustom creates, applies, patches, deletes and lists the custom resources of one client, in both versions, until ctx ends.
func rewriteCustom(ctx context.Context, client dynamic.Interface, number int, pause *sync.RWMutex, writes *atomic.Int64) error {
	payload := strings.Repeat("x", soakBytes-16)
	// A name comes back when its object has been deleted for a while.
	nameOf := func(i int) string { return fmt.Sprintf("soak-%d-%d", number, i%(2*soakObjects)) }
	for i := 0; ctx.Err() == nil; i++ {
		version := []string{"v1", "v2"}[i%2]
		objects := auditedObjects(client, soakKind, version)
		steps := []func() error{
			func() error {
				_, err := objects.Create(ctx, auditedObject(soakKind, version, nameOf(i), payload), metav1.CreateOptions{FieldManager: "creator"})
				return err
			},
			func() error {
				applied := auditedObject(soakKind, version, nameOf(i), strconv.Itoa(i)+payload)
				_, err := objects.Apply(ctx, nameOf(i), applied, metav1.ApplyOptions{FieldManager: "applier", Force: true})
				return err
			},
			func() error {
				patch := fmt.Appendf(nil, `{"spec":{"n":%d}}`, i)
				_, err := objects.Patch(ctx, nameOf(i), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "patcher"})
				return err
			},
		}
		if i >= soakObjects {
			steps = append(steps, func() error { return objects.Delete(ctx, nameOf(i-soakObjects), metav1.DeleteOptions{}) })
		}
		for _, step := range steps {
			if err := confirmed(ctx, pause, step); err != nil {
				return err
			}
			writes.Add(1)
		}
		if i%10 == 0 {
			if _, err := objects.List(ctx, metav1.ListOptions{}); err != nil && ctx.Err() == nil {
				return err
			}
		}
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

// metricMB returns the sum of a metric in bytes over its labels, in MB.
func metricMB(t *testing.T, text, name string) int {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(text) {
		labels, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if metric, _, _ := strings.Cut(labels, "{"); !ok || metric != name {
			continue
		}
		size, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum += size
	}
	return int(sum) >> 20
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
