package watches

import (
	"context"
	"net/http"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	compbasemetrics "k8s.io/component-base/metrics"
)

// stream is one open watch.
type stream struct {
	resource *resource
	format   *format
	// writer is the writer of the answer, and flusher the same.
	writer  http.ResponseWriter
	flusher http.Flusher
	req     *http.Request
	info    *request.RequestInfo
	watch   watch.Interface
	cancel  context.CancelFunc
	timer   *time.Timer
	// shutdown is closed when the server shuts down.
	shutdown <-chan struct{}

	// count and sizes are the metrics of the events.
	count compbasemetrics.CounterMetric
	sizes compbasemetrics.ObserverMetric
	// list is nil if the watch begins with no list, or when the list was sent.
	list *list

	// size is the number of bytes of the current event, and sent that of all events.
	size, sent int
}

// serve sends the events of a watch until it ends.
func (s *stream) serve() {
	func() {
		defer s.cancel()
		metrics.RecordLongRunning(s.req, s.info, metrics.APIServerComponent, s.run)
	}()
	s.resource.monitor(s.req, http.StatusOK, s.sent)
}

// run begins the answer and sends the events.
func (s *stream) run() {
	defer s.watch.Stop()
	defer s.timer.Stop()
	header := s.writer.Header()
	header.Set("Content-Type", s.format.mediaType)
	header.Set("Transfer-Encoding", "chunked")
	s.writer.WriteHeader(http.StatusOK)
	s.flusher.Flush()
	events, ended := s.watch.ResultChan(), s.req.Context().Done()
	for {
		select {
		case <-s.shutdown:
			return
		case <-ended:
			return
		case <-s.timer.C:
			return
		case event, ok := <-events:
			if !ok || !s.send(event) {
				return
			}
			if len(events) == 0 {
				s.flusher.Flush()
			}
		}
	}
}

// send writes an event. It returns false if the watch ends with it.
func (s *stream) send(event watch.Event) bool {
	if err := s.format.write(event, s); err != nil {
		utilruntime.HandleErrorWithContext(s.req.Context(), err, "Failed to encode watch event")
		return false
	}
	s.count.Inc()
	s.sizes.Observe(float64(s.size - s.format.frame))
	s.sent, s.size = s.sent+s.size, 0
	if s.list != nil && s.list.endsWith(s.req.Context(), event) {
		s.list.end(s.req.Context(), s.resource.scope.Resource)
		s.list = nil
	}
	return true
}

// Write implements io.Writer, for one event.
func (s *stream) Write(text []byte) (int, error) {
	n, err := s.writer.Write(text)
	s.size += n
	return n, err
}
