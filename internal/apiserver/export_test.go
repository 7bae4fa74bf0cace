package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/connection/inprocess"
)

// DrainTimeout is how long a shutdown waits for requests.
const DrainTimeout = drainTimeout

// OnStart registers a function that runs when the server starts.
func (s *Server) OnStart(name string, do func() error) error {
	return s.served.hooks.OnStart(name, func(genericapiserver.PostStartHookContext) error { return do() })
}

// AuditCaches compares all caches with etcd once.
func (s *Server) AuditCaches(ctx context.Context) { s.served.auditor.Audit(ctx) }

// Auditor returns what compares the caches with etcd.
func (s *Server) Auditor() *cacheaudit.Auditor { return s.served.auditor }

// Source returns the source of the server's informers.
func (s *Server) Source() inprocess.Source { return s.served.source }

// Keep returns the plugin that refuses to delete objects.
func (s *Server) References() *referrers.Index { return s.served.references }

// Serve passes a request of the server itself to its handlers, with the context of the request.
func (s *Server) Serve(req *http.Request) *httptest.ResponseRecorder {
	req.Header.Set("Authorization", "Bearer "+s.loopback.BearerToken)
	answer := httptest.NewRecorder()
	s.served.server.Handler.ServeHTTP(answer, req)
	return answer
}

func (s *Server) Keep() *keep.Plugin { return s.served.keep }

// Inside returns the client inside the server.
func (s *Server) Inside() (kubernetes.Interface, error) {
	return insideClient(s.served.server.Handler, s.loopback)
}
