package cacheaudit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
)

// entries is a cache whose entries are the same, differ, or cannot be compared.
type entries struct {
	name    string
	results string // one letter for each entry: s, d or k
	err     error
	dropped int
	work    time.Duration
	looked  []time.Time
}

func (e *entries) Name() string { return e.name }

func (e *entries) Compare(ctx context.Context, pass *cacheaudit.Pass) error {
	for i, result := range e.results {
		e.looked = append(e.looked, time.Now())
		time.Sleep(e.work)
		switch result {
		case 's':
			pass.Same()
		case 'k':
			pass.Skip()
		default:
			pass.Judge(false, string(rune('a'+i)))
		}
		if err := pass.Rest(ctx); err != nil {
			return err
		}
	}
	return e.err
}

func (e *entries) Drop() { e.dropped++; e.results = "" }

// figures returns the metrics of an auditor with labels.
func figures(t *testing.T, auditor *cacheaudit.Auditor) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(auditor.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		name := strings.TrimPrefix(family.GetName(), "holdfast_cache_audit_")
		for _, metric := range family.GetMetric() {
			labels := ""
			for _, pair := range metric.GetLabel() {
				labels += " " + pair.GetValue()
			}
			if metric.GetCounter() != nil {
				got[name+labels] = metric.GetCounter().GetValue()
			}
		}
	}
	return got
}

// An audit counts what it finds, drops each cache with a difference once, and writes one line with the first key.
func TestAudit(t *testing.T) {
	var log bytes.Buffer
	state := klog.CaptureState()
	defer state.Restore()
	klog.LogToStderr(false)
	// klog writes an error to the outputs of all lower severities too.
	for _, severity := range []string{"WARNING", "ERROR", "FATAL"} {
		klog.SetOutputBySeverity(severity, io.Discard)
	}
	klog.SetOutputBySeverity("INFO", &log)
	right, wrong := &entries{name: "trees", results: "sks"}, &entries{name: "watch", results: "sddk"}
	gone := &entries{name: "watch", results: "s", err: errors.New("the cache is being filled")}
	auditor := cacheaudit.New(cacheaudit.Config{Interval: time.Hour, Caches: func() []cacheaudit.Cache {
		return []cacheaudit.Cache{right, wrong, gone}
	}})
	auditor.Audit(t.Context())
	want := map[string]float64{
		"differences_total trees": 0, "differences_total watch": 2, "failures_total trees": 0, "failures_total watch": 1,
		"entries_total trees same": 2, "entries_total trees skipped": 1, "entries_total trees different": 0,
		"entries_total watch same": 2, "entries_total watch skipped": 1, "entries_total watch different": 2,
	}
	if diff := cmp.Diff(want, figures(t, auditor)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if right.dropped != 0 || wrong.dropped != 1 || gone.dropped != 0 {
		t.Errorf("dropped: %d, %d, %d, want only the second cache", right.dropped, wrong.dropped, gone.dropped)
	}
	klog.Flush()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `cache="watch" key="b" differences=2`) {
		t.Errorf("the log is %q", got)
	}
	auditor.Audit(t.Context())
	if diff := cmp.Diff(float64(2), figures(t, auditor)["differences_total watch"]); diff != "" {
		t.Errorf("after the cache was dropped, -want +got:\n%s", diff)
	}
}

// An audit begins after about the interval, again and again, and ends with its context. It works a tenth of the time.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval, work = 10 * time.Minute, 20 * time.Millisecond
		cache := &entries{name: "trees", results: "ss", work: work}
		auditor := cacheaudit.New(cacheaudit.Config{Interval: interval, Caches: func() []cacheaudit.Cache { return []cacheaudit.Cache{cache} }})
		ctx, cancel := context.WithCancel(t.Context())
		began, ended := time.Now(), make(chan struct{})
		go func() {
			auditor.Run(ctx)
			close(ended)
		}()
		synctest.Wait()
		if n, ok := figures(t, auditor)["differences_total trees"]; !ok || n != 0 {
			t.Errorf("the metric before the first audit is %v, %t", n, ok)
		}
		time.Sleep(3 * interval)
		cancel()
		<-ended
		if len(cache.looked) < 4 || len(cache.looked) > 6 {
			t.Fatalf("%d entries in three intervals, want those of two or three audits", len(cache.looked))
		}
		if first := cache.looked[0].Sub(began); first < interval*9/10 || first > interval*11/10+time.Second {
			t.Errorf("the first audit began after %v", first)
		}
		if rest := cache.looked[1].Sub(cache.looked[0]); rest != 10*work {
			t.Errorf("the second entry came after %v, want %v", rest, 10*work)
		}
	})
}

// Without an interval there are neither audits nor metrics.
func TestOff(t *testing.T) {
	t.Parallel()
	auditor := cacheaudit.New(cacheaudit.Config{Caches: func() []cacheaudit.Cache {
		t.Error("an audit")
		return nil
	}})
	auditor.Run(t.Context())
	if got := figures(t, auditor); len(got) > 0 {
		t.Errorf("the metrics %v", got)
	}
}
