package custom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meters are the metrics about definitions that count events.
type meters struct {
	seconds  prometheus.Histogram
	failures prometheus.Counter
}

func newMeters() meters {
	return meters{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdfast_definition_compile_seconds",
			Help: "Time to compile a definition: for reads when its first request arrives, for writes when its first write arrives, " +
				"and after each change.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_definition_compile_failures_total",
			Help: "Definitions that the server could not compile, so that it cannot serve their objects.",
		}),
	}
}

// observe counts one compilation.
func (m meters) observe(began time.Time, err error) {
	m.seconds.Observe(time.Since(began).Seconds())
	if err != nil {
		m.failures.Inc()
	}
}

// collectors returns the meters, and gauges of the definitions that are served and compiled.
func (m meters) collectors(count func() (served, compiled int)) []prometheus.Collector {
	served := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_definitions_served", Help: "CustomResourceDefinitions that this server serves.",
	}, func() float64 { served, _ := count(); return float64(served) })
	compiled := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_definitions_compiled",
		Help: "Served CustomResourceDefinitions that are in use, so that their compiled form is in memory.",
	}, func() float64 { _, compiled := count(); return float64(compiled) })
	return []prometheus.Collector{m.seconds, m.failures, served, compiled}
}
