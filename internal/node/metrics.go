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

	"holdfast.dev/holdfast/internal/projection"
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
	lag                    prometheus.Histogram

	objects, watches, volumes, oldest, token, certificate *prometheus.Desc
}

func newMetrics(agent *Agent) *metrics {
	m := &metrics{
		agent:    agent,
		registry: prometheus.NewRegistry(),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_node_refresh_failures_total", Help: "Failed updates of volumes.",
		}),
		changes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_node_volume_changes_total", Help: "Updates that replaced the files of a volume.",
		}),
		hookRuns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_node_hook_runs_total", Help: "Runs of hooks, and attempts to run a hook that does not exist.",
		}, hookLabels),
		hookFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_node_hook_failures_total",
			Help: "Runs of hooks that failed or timed out, and attempts to run a hook that does not exist.",
		}, hookLabels),
		hookDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "holdfast_node_hook_duration_seconds", Help: "How long hooks ran.", Buckets: []float64{0.01, 0.1, 0.5, 1, 5, 10, 30, 60},
		}, hookLabels),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdfast_node_change_lag_seconds", Help: "Time from the arrival of a changed object to its new files.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60},
		}),
		token: prometheus.NewDesc("holdfast_node_oldest_token_age_seconds",
			"Age of the oldest service account token in the volumes; 0 if there is none.", nil, nil),
		certificate: prometheus.NewDesc("holdfast_node_certificate_expiration_timestamp_seconds",
			"When the client certificate of this agent expires, as a Unix time.", nil, nil),
		objects: prometheus.NewDesc("holdfast_node_objects_in_use",
			"ConfigMaps and Secrets in the volumes of this node, watched or immutable.", []string{"kind", "mode"}, nil),
		watches: prometheus.NewDesc("holdfast_node_open_watches",
			"Open watches of this agent, including the watch of pods.", nil, nil),
		volumes: prometheus.NewDesc("holdfast_node_projected_volumes",
			"Volumes that have files.", nil, nil),
		oldest: prometheus.NewDesc("holdfast_node_oldest_unrefreshed_volume_seconds",
			"How long the oldest outdated volume has been outdated; 0 if no volume is outdated.", nil, nil),
	}
	m.registry.MustRegister(m, m.failures, m.changes, m.hookRuns, m.hookFailures, m.hookDuration, m.lag)
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
	for _, desc := range []*prometheus.Desc{m.objects, m.watches, m.volumes, m.oldest, m.token, m.certificate} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	now := m.agent.count()
	for labels, count := range now.objects {
		out <- prometheus.MustNewConstMetric(m.objects, prometheus.GaugeValue, float64(count), string(labels.kind), labels.mode)
	}
	out <- prometheus.MustNewConstMetric(m.watches, prometheus.GaugeValue, float64(m.agent.watches.open.Load()))
	out <- prometheus.MustNewConstMetric(m.volumes, prometheus.GaugeValue, float64(now.volumes))
	out <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, now.oldest.Seconds())
	out <- prometheus.MustNewConstMetric(m.token, prometheus.GaugeValue, now.token.Seconds())
	if expires, ok := m.agent.Credential.expires(); ok {
		out <- prometheus.MustNewConstMetric(m.certificate, prometheus.GaugeValue, float64(expires.Unix()))
	}
}

// counts are the values of the gauges at one time.
type counts struct {
	objects map[objectLabels]int
	volumes int
	// oldest is the age of the oldest volume that is not up to date, and token that of the
	// oldest token.
	oldest, token time.Duration
}

type objectLabels struct {
	kind projection.Kind
	mode string
}

// count derives the gauges from the records. An object that was deleted and created
// again counts twice while pods use both versions.
func (a *Agent) count() counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	objects, now := map[objectLabels]int{}, a.Clock.Now()
	found := counts{objects: objects}
	for _, kind := range []projection.Kind{projection.ConfigMap, projection.Secret} {
		objects[objectLabels{kind, modeWatched}], objects[objectLabels{kind, modeImmutable}] = 0, 0
	}
	seen := map[types.UID]bool{}
	for _, record := range a.records {
		found.volumes += len(record.Volumes)
		for _, volume := range record.Volumes {
			for _, token := range volume.Tokens {
				if !token.Issued.IsZero() {
					found.token = max(found.token, now.Sub(token.Issued))
				}
			}
		}
		for _, source := range record.Sources {
			if seen[source.UID] {
				continue
			}
			seen[source.UID] = true
			objects[objectLabels{source.Kind, source.mode()}]++
		}
	}
	for _, since := range a.failing {
		found.oldest = max(found.oldest, now.Sub(since))
	}
	return found
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
