package guard

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/definition/refusal"
)

// meters count decisions and their time.
type meters struct {
	decisions *metrics.CounterVec
	seconds   *metrics.HistogramVec
	strangers *metrics.CounterVec
	// findings are those of the last audit, by rule, and audited is its time. Only the leader has them.
	findings, audited *metrics.GaugeVec
}

// newMeters registers the metrics of the guard. Two guards in one process have the same metrics.
func newMeters() (*meters, error) {
	decisions, err := registered(metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "holdfast_guard_decisions_total", StabilityLevel: metrics.ALPHA,
		Help: "Decisions about writes and deletions, of each webhook, without dry runs: allowed, warned, overridden (by a right of the user), " +
			"refused or failed.",
	}, []string{"webhook", "group", "resource", "decision"}))
	if err != nil {
		return nil, err
	}
	seconds, err := registered(metrics.NewHistogramVec(&metrics.HistogramOpts{
		Name: "holdfast_guard_decision_seconds", StabilityLevel: metrics.ALPHA,
		Help:    "Time of a decision, with the requests to the API server that it needs.",
		Buckets: metrics.ExponentialBuckets(0.0002, 2, 15),
	}, []string{"webhook"}))
	if err != nil {
		return nil, err
	}
	strangers, err := registered(metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "holdfast_guard_unknown_clients_total", StabilityLevel: metrics.ALPHA,
		Help: "Requests without the token of the webhook configuration. They do not come from an API server, and are answered 404.",
	}, []string{}))
	if err != nil {
		return nil, err
	}
	findings, err := registered(metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "holdfast_guard_findings", StabilityLevel: metrics.ALPHA,
		Help: "Findings of the last audit of this leader, by rule: see holdfast guard audit.",
	}, []string{"rule"}))
	if err != nil {
		return nil, err
	}
	audited, err := registered(metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "holdfast_guard_audit_timestamp_seconds", StabilityLevel: metrics.ALPHA,
		Help: "Time of the last complete audit of this leader.",
	}, []string{}))
	return &meters{decisions: decisions, seconds: seconds, strangers: strangers, findings: findings, audited: audited}, err
}

// registered registers a metric. If there is one with its name already, it returns that one.
func registered[M metrics.Registerable](metric M) (M, error) {
	err := legacyregistry.Register(metric)
	var known prometheus.AlreadyRegisteredError
	if errors.As(err, &known) {
		if existing, ok := known.ExistingCollector.(M); ok {
			return existing, nil
		}
	}
	return metric, err
}

// decided is a decision and its time.
type decided struct {
	webhook string
	request *admissionv1.AdmissionRequest
	answer  *admissionv1.AdmissionResponse
	took    time.Duration
}

// observe counts a decision. As on our server, dry runs do not count.
func (m *meters) observe(d decided) {
	if in := d.request.Resource; !isDryRun(d.request) {
		m.decisions.WithLabelValues(d.webhook, in.Group, in.Resource, decisionOf(d.answer)).Inc()
	}
	m.seconds.WithLabelValues(d.webhook).Observe(d.took.Seconds())
}

// decisionOf returns an answer in one word. A refusal names fields; without them the guard could not decide.
func decisionOf(answer *admissionv1.AdmissionResponse) string {
	switch {
	case answer.Allowed && answer.AuditAnnotations[overrideKey] != "":
		return "overridden"
	case answer.Allowed && len(answer.Warnings) > 0:
		return "warned"
	case answer.Allowed:
		return "allowed"
	case answer.AuditAnnotations[refusedKey] != "":
		return "refused"
	}
	if details := answer.Result.Details; details != nil {
		for _, cause := range details.Causes {
			switch cause.Type {
			case refusal.CauseTypeFieldImmutable, keep.CauseTypeObjectKept, metav1.CauseTypeForbidden, metav1.CauseTypeFieldValueNotSupported:
				return "refused"
			}
		}
	}
	return "failed"
}
