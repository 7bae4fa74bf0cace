package cacheaudit

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	differences, entries, failures *prometheus.CounterVec
	duration, success              prometheus.Gauge
}

func newMetrics() metrics {
	return metrics{
		differences: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_cache_audit_differences_total",
			Help: "Entries of a cache that differed from those computed anew. The server has dropped the cache.",
		}, []string{"cache"}),
		entries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_cache_audit_entries_total",
			Help: "Entries of a cache that audits have looked at, by result: same, different or skipped.",
		}, []string{"cache", "result"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_cache_audit_failures_total",
			Help: "Caches that an audit could not compare, such as those that were being filled.",
		}, []string{"cache"}),
		duration: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_cache_audit_duration_seconds",
			Help: "Duration of the last audit of the caches. An audit rests nine tenths of the time.",
		}),
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "holdfast_cache_audit_last_success_timestamp_seconds",
			Help: "Time of the end of the last audit that compared all caches, in seconds since 1970.",
		}),
	}
}

func (m metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.differences, m.entries, m.failures, m.duration, m.success}
}

// count adds the result of one cache. A cache without differences has the metric too.
func (m metrics) count(cache string, pass *Pass, err error) {
	m.differences.WithLabelValues(cache).Add(float64(pass.different))
	for result, n := range map[string]int{"same": pass.same, "different": pass.different, "skipped": pass.skipped} {
		m.entries.WithLabelValues(cache, result).Add(float64(n))
	}
	failures := m.failures.WithLabelValues(cache)
	if err != nil {
		failures.Inc()
	}
}

func (m metrics) finish(took time.Duration, complete bool) {
	m.duration.Set(took.Seconds())
	if complete {
		m.success.SetToCurrentTime()
	}
}
