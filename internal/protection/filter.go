package protection

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// Refusals counts refused writes, by protection. It is a prometheus.Collector.
type Refusals struct{ *prometheus.CounterVec }

// NewRefusals returns counters that are all zero.
func NewRefusals() Refusals {
	counters := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_refusals_total", Help: "Writes that a protection refused, without dry runs.",
	}, []string{"protection"})
	for _, protection := range All() {
		counters.WithLabelValues(string(protection))
	}
	return Refusals{counters}
}

// Filter wraps the handlers of resources. It needs the RequestInfo in the context.
func (r Refusals) Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		isUpdate := ok && info.IsResourceRequest && (info.Verb == "update" || info.Verb == "patch")
		if !isUpdate || req.URL.Query().Has("dryRun") {
			next.ServeHTTP(w, req)
			return
		}
		refused := &record{}
		answered := &answer{ResponseWriter: w, count: func() { r.count(refused) }}
		ctx := context.WithValue(req.Context(), recordKey{}, refused)
		next.ServeHTTP(responsewriter.WrapForHTTP1Or2(answered), req.WithContext(ctx))
	})
}

func (r Refusals) count(refused *record) {
	for _, protection := range refused.protections() {
		r.WithLabelValues(string(protection)).Inc()
	}
}

// answer is a ResponseWriter that calls count before the first byte of an error is written. A client that
// has read the answer therefore finds it in the metrics.
type answer struct {
	http.ResponseWriter
	count func()
	begun bool
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if !a.begun {
		a.begun = true
		if code >= http.StatusBadRequest {
			a.count()
		}
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(data)
}
