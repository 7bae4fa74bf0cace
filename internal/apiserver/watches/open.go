package watches

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// open opens the watch of a request. It returns false if the library must serve the request, and no watch if the request is answered. The frames of
// the calls here are not on the stack of the watch.
//
//go:noinline
func (s *Server) open(r *resource, w http.ResponseWriter, req *http.Request) (opened *stream, served bool) {
	flusher, ok := w.(http.Flusher)
	if !ok || wsstream.IsWebSocketRequest(req) || !acceptsUsual(req) {
		return nil, false
	}
	media, _, err := negotiation.NegotiateOutputMediaType(req, r.scope.Serializer, r.scope)
	if err != nil || media.Convert != nil {
		return nil, false
	}
	streamed, err := negotiation.NegotiateOutputMediaTypeStream(req, r.scope.Serializer, r.scope)
	if err != nil || r.formats[streamed.MediaType] == nil {
		return nil, false
	}
	options, ok := r.read(req)
	if !ok {
		return nil, false
	}
	ctx := req.Context()
	info, _ := request.RequestInfoFrom(ctx)
	timeout := s.timeout(options.TimeoutSeconds)
	ctx, cancel := context.WithTimeout(request.WithNamespace(ctx, info.Namespace), timeout)
	events, err := r.watcher.Watch(ctx, &options)
	if err != nil {
		cancel()
		r.refuse(err, w, req)
		return nil, true
	}
	at := r.scope.Resource
	opened = &stream{
		resource: r, format: r.formats[streamed.MediaType], writer: w, flusher: flusher, req: req, info: info,
		watch: events, cancel: cancel, timer: time.NewTimer(timeout),
		count: metrics.WatchEvents.WithLabelValues(at.Group, at.Version, at.Resource),
		sizes: metrics.WatchEventsSizes.WithLabelValues(at.Group, at.Version, at.Resource),
	}
	if beginsWithList(&options) {
		opened.list = beginList(ctx, req, metrics.CleanListScope(ctx, &options))
	}
	if signals := request.ServerShutdownSignalFrom(req.Context()); signals != nil {
		opened.shutdown = signals.ShuttingDown()
	}
	return opened, true
}

// timeout returns how long a watch takes at most.
func (s *Server) timeout(seconds *int64) time.Duration {
	if seconds != nil && *seconds != 0 {
		return time.Duration(*seconds) * time.Second
	}
	// The watches that begin at the same time do not all end at the same time.
	return time.Duration(float64(s.minTimeout) * (rand.Float64() + 1))
}

// refuse answers a request whose watch cannot be opened.
func (r *resource) refuse(err error, w http.ResponseWriter, req *http.Request) {
	counted := &metrics.ResponseWriterDelegator{ResponseWriter: w}
	responsewriters.ErrorNegotiated(err, r.scope.Serializer, r.scope.Kind.GroupVersion(), responsewriter.WrapForHTTP1Or2(counted), req)
	r.monitor(req, counted.Status(), counted.ContentLength())
}

// monitor counts a request at its end, as the route for lists does, which serves watches in the library.
func (r *resource) monitor(req *http.Request, status, size int) {
	received, ok := request.ReceivedTimestampFrom(req.Context())
	if !ok {
		received = time.Now()
	}
	scope := "cluster"
	if info, ok := request.RequestInfoFrom(req.Context()); ok && info.Namespace != "" {
		scope = "namespace"
	}
	at := r.scope.Resource
	metrics.MonitorRequest(req, "LIST", at.Group, at.Version, at.Resource, "", scope, metrics.APIServerComponent, false, "", status, size, time.Since(received))
}
