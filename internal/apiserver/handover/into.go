package handover

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/klog/v2"
)

// logged is the level of verbosity at which the filters of the library log each request.
const logged = 3

// into hands watches over to the goroutine of the request.
func (c Config) into(next http.Handler) http.Handler {
	recovering := filters.WithPanicRecovery(next, c.Resolver)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h := from(req.Context())
		if h == nil || !c.suits(req.Context()) || c.Group.Add(1) != nil {
			next.ServeHTTP(w, req)
			return
		}
		begun := &signal{given: make(chan struct{})}
		h.handler, h.running, h.later = recovering, true, []func(){c.Group.Done}
		h.given <- req.WithContext(flowcontrol.WithInitializationSignal(req.Context(), begun))
		select {
		case <-begun.given:
		case <-h.over:
		}
	})
}

// suits returns true for a watch that no filter records at its end.
func (c Config) suits(ctx context.Context) bool {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || !info.IsResourceRequest || info.Verb != "watch" {
		return false
	}
	if c.IsAudited && audit.AuditContextFrom(ctx).Enabled() {
		return false
	}
	return !klog.V(logged).Enabled()
}

// signal tells that a watch is initialized.
type signal struct {
	once  sync.Once
	given chan struct{}
}

var _ flowcontrol.InitializationSignal = &signal{}

// Signal implements flowcontrol.InitializationSignal.
func (s *signal) Signal() { s.once.Do(func() { close(s.given) }) }

// Wait implements flowcontrol.InitializationSignal.
func (s *signal) Wait() { <-s.given }
