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
	return []prometheus.Collector{r.metrics.entries, r.metrics.dropped}
}
