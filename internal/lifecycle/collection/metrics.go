package collection

import (
	"github.com/prometheus/client_golang/prometheus"

	"holdfast.dev/holdfast/internal/references"
)

// The reasons for which objects wait, as values of a label.
const (
	// incomplete is the reason of objects in namespaces of which not all references are known.
	incomplete = "incomplete"
	// refused is the reason of objects that the server refuses to mark or to delete, for example because a rule or a webhook keeps them.
	refused = "refused"
	// invalid is the reason of objects with annotations that cannot be read.
	invalid = "invalid"
	// unknown is the reason of objects of which it is not known whether an object refers to them. They are not counted.
	unknown = "unknown"
)

// Metrics counts what the controller does. It implements prometheus.Collector.
type Metrics struct {
	collected *prometheus.CounterVec
	waiting   *prometheus.GaugeVec
}

// NewMetrics returns metrics that start at zero.
func NewMetrics() *Metrics {
	m := &Metrics{
		collected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_collected_total", Help: "ConfigMaps and Secrets that this server deleted because no object referred to them, by kind.",
		}, []string{"kind"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "holdfast_collection_waiting_objects",
			Help: "Unreferenced ConfigMaps and Secrets that the leader would delete, by the reason for which it does not: incomplete (not all references are known), refused (a rule or a webhook keeps the object) or invalid (an annotation cannot be read).",
		}, []string{"reason"}),
	}
	for _, kind := range []references.Kind{references.ConfigMap, references.Secret} {
		m.collected.WithLabelValues(kind.String())
	}
	m.reset()
	return m
}

// reset is called when this process is not the leader any more.
func (m *Metrics) reset() {
	for _, reason := range []string{incomplete, refused, invalid} {
		m.waiting.WithLabelValues(reason).Set(0)
	}
}

// count adds to the number of objects that wait for a reason.
func (m *Metrics) count(reason string, by float64) {
	if reason != "" && reason != unknown {
		m.waiting.WithLabelValues(reason).Add(by)
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	m.collected.Describe(out)
	m.waiting.Describe(out)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.collected.Collect(out)
	m.waiting.Collect(out)
}
