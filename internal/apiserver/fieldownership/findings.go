package fieldownership

import (
	"github.com/prometheus/client_golang/prometheus"

	"holdfast.dev/holdfast/ownership"
)

// findings counts the fields of other owners that stored writes change.
type findings struct{ *prometheus.CounterVec }

func newFindings() findings {
	counters := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_ownership_findings_total",
		Help: "Fields of another owner that stored writes changed, by the finding of which the client was warned.",
	}, []string{"finding"})
	for _, kind := range []ownership.Kind{ownership.Overwrites, ownership.Reverts, ownership.ChangesForeign, ownership.TakesOver} {
		counters.WithLabelValues(kind.String())
	}
	return findings{counters}
}

// count counts the findings of a write that was stored.
func (f findings) count(verdict *ownership.Verdict) {
	// A replace that sets the last-applied configuration gets one warning, about that.
	if verdict.Replaced {
		return
	}
	for i := range verdict.Findings {
		f.WithLabelValues(verdict.Findings[i].Kind.String()).Inc()
	}
}

// Findings returns the counters of findings. It is nil if the check is off.
func (c *Checker) Findings() prometheus.Collector {
	if c == nil {
		return nil
	}
	return c.findings
}
