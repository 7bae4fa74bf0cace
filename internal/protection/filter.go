package protection

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// Refusals counts refused writes, by protection, and writes that break a rule by the right of their user. It is a
// prometheus.Collector.
type Refusals struct {
	*prometheus.CounterVec
	overrides prometheus.Counter
}

// NewRefusals returns counters that are all zero.
func NewRefusals() Refusals {
	counters := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_refusals_total", Help: "Writes that a protection refused, without dry runs.",
	}, []string{"protection"})
	for _, protection := range All() {
		counters.WithLabelValues(string(protection))
	}
	overrides := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "holdfast_rule_overrides_total", Help: "Writes that break a rule by the right of their user, without dry runs.",
	})
	return Refusals{counters, overrides}
}

// Describe implements prometheus.Collector.
func (r Refusals) Describe(out chan<- *prometheus.Desc) {
	r.CounterVec.Describe(out)
	r.overrides.Describe(out)
}

// Collect implements prometheus.Collector.
func (r Refusals) Collect(out chan<- prometheus.Metric) {
	r.CounterVec.Collect(out)
	r.overrides.Collect(out)
}

// Filter wraps the handlers of resources. It needs the RequestInfo in the context. tell is called for each refused request with its
// context, before the request is answered; it may be nil.
func (r Refusals) Filter(next http.Handler, tell func(context.Context, []Refusal)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if !ok || !isProtected(info) {
			next.ServeHTTP(w, req)
			return
		}
		judged := &record{}
		answered := &answer{ResponseWriter: w, count: func(code int) {
			refused := r.count(judged, info.Verb, code)
			if tell != nil && len(refused) > 0 {
				tell(req.Context(), refused)
			}
		}}
		ctx := context.WithValue(req.Context(), recordKey{}, judged)
		if req.URL.Query().Has("dryRun") {
			ctx = DryRun(ctx)
		}
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(answered), req.WithContext(ctx))
	})
}

// isProtected reports whether a protection may refuse a request: an update, a deletion, an eviction, the binding of a pod, or a new
// definition.
func isProtected(info *genericapirequest.RequestInfo) bool {
	if !info.IsResourceRequest {
		return false
	}
	switch info.Verb {
	case "update", "patch", "delete", "deletecollection":
		return true
	}
	return info.Verb == "create" &&
		(info.Subresource == "eviction" || info.Subresource == "binding" || info.Resource == "customresourcedefinitions")
}

// count counts a request that is answered with a code. It returns the protections that refused it.
func (r Refusals) count(judged *record, verb string, code int) []Refusal {
	failed := code >= http.StatusBadRequest
	if (!failed || verb == "deletecollection") && judged.announceOverrides() {
		r.overrides.Inc()
	}
	if !failed {
		return nil
	}
	refused := judged.refusals()
	for _, each := range refused {
		r.WithLabelValues(string(each.Protection)).Inc()
	}
	return refused
}

// answer is a ResponseWriter that calls count before the first byte is written. A client that
// has read the answer therefore finds it in the metrics.
type answer struct {
	http.ResponseWriter
	count func(code int)
	begun bool
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if !a.begun {
		a.begun = true
		a.count(code)
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.count(http.StatusOK)
	}
	return a.ResponseWriter.Write(data)
}
