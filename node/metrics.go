package node

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/projection"
)

// The values of the label mode, and of SourceStatus.Mode.
const (
	modeWatched   = "watched"
	modeImmutable = "immutable"
)

// metrics are the metrics of one agent.
type metrics struct {
	agent    *Agent
	registry *prometheus.Registry
	failures prometheus.Counter
	changes  prometheus.Counter

	hookRuns, hookFailures *prometheus.CounterVec
	hookDuration           *prometheus.HistogramVec

	objects, watches, volumes, oldest *prometheus.Desc
}

func newMetrics(agent *Agent) *metrics {
	m := &metrics{
		agent:    agent,
		registry: prometheus.NewRegistry(),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_node_refresh_failures_total", Help: "Times that a volume could not be made what it should be.",
		}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_node_volume_changes_total", Help: "Times that the files of a volume were replaced.",
		}),
		hookRuns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_node_hook_runs_total", Help: "Times that a hook ran, or was to run and does not exist.",
		}, hookLabels),
		hookFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_node_hook_failures_total", Help: "Times that a hook failed, timed out or does not exist.",
		}, hookLabels),
		hookDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "holdfast_node_hook_duration_seconds", Help: "How long hooks ran.", Buckets: []float64{0.01, 0.1, 0.5, 1, 5, 10, 30, 60},
		}, hookLabels),
		objects: prometheus.NewDesc("holdfast_node_objects_in_use",
			"ConfigMaps and Secrets in the volumes of this node, by how they are kept.", []string{"kind", "mode"}, nil),
		watches: prometheus.NewDesc("holdfast_node_open_watches",
			"Watches that this agent has open, that of pods included.", nil, nil),
		volumes: prometheus.NewDesc("holdfast_node_projected_volumes",
			"Volumes that have files.", nil, nil),
		oldest: prometheus.NewDesc("holdfast_node_oldest_unrefreshed_volume_seconds",
			"For how long a volume has not been what it should be, of the one that waits longest; 0 if there is none.", nil, nil),
	}
	m.registry.MustRegister(m, m.failures, m.changes, m.hookRuns, m.hookFailures, m.hookDuration)
	return m
}

// hookLabels are the name of the executable, and "check" or "on-change".
var hookLabels = []string{"hook", "event"}

// unknownHook is the label of all hooks that do not exist. Their names come from the API
// and would make any number of metrics.
const unknownHook = "unknown"

// addHook counts a run of a hook.
func (m *metrics) addHook(call hookCall, name string, duration time.Duration, err error) {
	labels := []string{name, strings.TrimPrefix(call.annotation, annotationPrefix)}
	m.hookRuns.WithLabelValues(labels...).Inc()
	m.hookDuration.WithLabelValues(labels...).Observe(duration.Seconds())
	if err != nil {
		m.hookFailures.WithLabelValues(labels...).Inc()
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{m.objects, m.watches, m.volumes, m.oldest} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	counts, volumes, oldest := m.agent.count()
	for labels, count := range counts {
		out <- prometheus.MustNewConstMetric(m.objects, prometheus.GaugeValue, float64(count), string(labels.kind), labels.mode)
	}
	out <- prometheus.MustNewConstMetric(m.watches, prometheus.GaugeValue, float64(m.agent.watches.open.Load()))
	out <- prometheus.MustNewConstMetric(m.volumes, prometheus.GaugeValue, float64(volumes))
	out <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, oldest.Seconds())
}

type objectLabels struct {
	kind projection.Kind
	mode string
}

// count derives the gauges from the records. An object that was deleted and created
// again counts twice while pods use both versions.
func (a *Agent) count() (objects map[objectLabels]int, volumes int, oldest time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	objects = map[objectLabels]int{}
	for _, kind := range []projection.Kind{projection.ConfigMap, projection.Secret} {
		objects[objectLabels{kind, modeWatched}], objects[objectLabels{kind, modeImmutable}] = 0, 0
	}
	seen := map[types.UID]bool{}
	for _, record := range a.records {
		volumes += len(record.Volumes)
		for _, source := range record.Sources {
			if seen[source.UID] {
				continue
			}
			seen[source.UID] = true
			objects[objectLabels{source.Kind, source.mode()}]++
		}
	}
	now := a.Clock.Now()
	for _, since := range a.failing {
		oldest = max(oldest, now.Sub(since))
	}
	return objects, volumes, oldest
}

func (s Source) mode() string {
	if s.Immutable {
		return modeImmutable
	}
	return modeWatched
}

// serveMetrics serves /metrics until ctx ends.
func (a *Agent) serveMetrics(ctx context.Context, running *sync.WaitGroup) error {
	if a.MetricsAddress == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.MetricsAddress)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "metrics are not served any more", "address", a.MetricsAddress)
		}
	})
	running.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}
