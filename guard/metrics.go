package guard

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"holdfast.dev/holdfast/definition/refusal"
)

// meters count decisions and their time.
type meters struct {
	decisions *metrics.CounterVec
	seconds   *metrics.Histogram
}

// newMeters registers the metrics of the guard. In a process with two guards, those of the first count.
func newMeters() (*meters, error) {
	m := &meters{
		decisions: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "holdfast_guard_decisions_total", Help: "Decisions about updates: allowed, warned, refused or failed.",
			StabilityLevel: metrics.ALPHA,
		}, []string{"group", "resource", "decision"}),
		seconds: metrics.NewHistogram(&metrics.HistogramOpts{
			Name: "holdfast_guard_decision_seconds", Help: "Time of a decision, with the requests to the API server that it needs.",
			Buckets: metrics.ExponentialBuckets(0.0002, 2, 15), StabilityLevel: metrics.ALPHA,
		}),
	}
	for _, metric := range []metrics.Registerable{m.decisions, m.seconds} {
		var known prometheus.AlreadyRegisteredError
		if err := legacyregistry.Register(metric); err != nil && !errors.As(err, &known) {
			return nil, err
		}
	}
	return m, nil
}

// observe counts an answer.
func (m *meters) observe(request *admissionv1.AdmissionRequest, answer *admissionv1.AdmissionResponse, took time.Duration) {
	m.decisions.WithLabelValues(request.Resource.Group, request.Resource.Resource, decisionOf(answer)).Inc()
	m.seconds.Observe(took.Seconds())
}

// decisionOf returns an answer in one word.
func decisionOf(answer *admissionv1.AdmissionResponse) string {
	switch {
	case answer.Allowed && len(answer.Warnings) > 0:
		return "warned"
	case answer.Allowed:
		return "allowed"
	}
	if details := answer.Result.Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Type == refusal.CauseTypeFieldImmutable {
				return "refused"
			}
		}
	}
	return "failed"
}
