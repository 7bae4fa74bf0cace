package recording

import "github.com/prometheus/client_golang/prometheus"

// metrics count what a Recorder does.
type metrics struct {
	entries, dropped prometheus.Counter
}

func newMetrics() metrics {
	return metrics{
		entries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_history_entries_total", Help: "Entries that this server has added to the history of objects.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_history_dropped_entries_total", Help: "Entries that this server has removed because history exceeded a bound.",
		}),
	}
}

// Collectors are the metrics of the recorder.
func (r *Recorder) Collectors() []prometheus.Collector {
	return []prometheus.Collector{r.metrics.entries, r.metrics.dropped, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "holdfast_history_bytes", Help: "Bytes of the history of all objects in etcd. This server counts its own writes at once, and those of others once an hour.",
	}, func() float64 { return float64(r.bytes.Load()) })}
}
