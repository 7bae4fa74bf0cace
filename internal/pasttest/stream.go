package pasttest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// maxDelay is the longest time that one event is late, besides the time that its watch waits.
const maxDelay = 40 * time.Millisecond

// event is one event of a watch, as the server sends it.
type event struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
	meta   objectMeta
}

// objectMeta identifies the object of an event.
type objectMeta struct {
	Metadata struct {
		Namespace, Name, ResourceVersion string
		UID                              types.UID
	}
}

// stream shows one watch.
type stream struct {
	life     *life
	resource string
	// upstream is the answer of the server.
	upstream io.ReadCloser

	// The lock of the proxy guards the fields below. queue are the events that the controller has not seen. ended says that the server
	// sends no more, and closed that the controller reads no more.
	queue         []event
	ended, closed bool
	// waited says that events have waited for a step to end.
	waited bool
}

// watch shows a watch.
func (t transport) watch(req *http.Request, object request) (*http.Response, error) {
	p := t.life.proxy
	if req.URL.Query().Get("sendInitialEvents") == "true" {
		return invalid(req, "the client lists first, so that the list can be old"), nil
	}
	response, err := t.next.RoundTrip(inJSON(req))
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	p.trace.addRead(object.resource, "watch", "%s from %q", p.name(req.URL.Path), req.URL.Query().Get("resourceVersion"))
	s := &stream{life: t.life, resource: object.resource, upstream: response.Body}
	reader, writer := io.Pipe()
	go s.read()
	go s.show(writer)
	response.Body = closer{reader, s}
	return response, nil
}

// closer is the body that the client reads.
type closer struct {
	*io.PipeReader
	stream *stream
}

// Close implements io.Closer.
func (c closer) Close() error {
	p := c.stream.life.proxy
	p.mu.Lock()
	c.stream.closed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	return c.PipeReader.Close()
}

// read queues the events of the server.
func (s *stream) read() {
	p := s.life.proxy
	decoder := json.NewDecoder(s.upstream)
	for {
		var next event
		err := decoder.Decode(&next)
		if err == nil {
			err = json.Unmarshal(next.Object, &next.meta)
		}
		p.mu.Lock()
		if err == nil {
			s.queue = append(s.queue, next)
		} else {
			s.ended = true
		}
		p.changed.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// show writes the events to the client, with faults.
func (s *stream) show(to *io.PipeWriter) {
	defer func() { _ = s.upstream.Close() }()
	encoder := json.NewEncoder(to)
	for {
		next, more := s.next()
		if !more {
			_ = to.CloseWithError(io.ErrUnexpectedEOF)
			return
		}
		for _, shown := range next {
			if encoder.Encode(shown) != nil {
				return // the client has closed the watch
			}
			if shown.Type == watch.Error {
				_ = to.Close()
				return
			}
		}
	}
}

// next waits for the next event and returns it as often as the client sees it. It returns false at the end of the watch.
func (s *stream) next() ([]event, bool) {
	p := s.life.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		held := p.held(s.resource)
		switch {
		case s.closed || s.life.isDead():
			return nil, false
		case held && len(s.queue) > 0:
			s.waited = true
		case len(s.queue) > 0:
			if shown := s.take(); len(shown) > 0 {
				return shown, true
			}
			continue
		case s.ended:
			return nil, false
		}
		p.changed.Wait()
	}
}

// take removes the next event from the queue. The caller holds the lock of the proxy.
func (s *stream) take() []event {
	p := s.life.proxy
	next := s.queue[0]
	meta := next.meta.Metadata
	name := p.name(meta.Namespace + "/" + meta.Name)
	key := s.resource + " " + name
	p.seen[key]++
	parts := []any{key, p.seen[key]}
	if s.waited && p.faults.any(expired) && p.faults.chance(50, "expire", parts) {
		s.waited, s.queue = false, nil
		p.trace.add("expired", "%s", s.resource)
		return []event{{Type: watch.Error, Object: json.RawMessage(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`)}}
	}
	s.waited = false
	s.queue = s.queue[1:]
	if next.Type == watch.Bookmark || next.Type == watch.Error {
		return []event{next}
	}
	if p.faults.any(merged) && p.faults.chance(60, "merge", parts) && s.merge(next) {
		p.trace.add("merged", "%s %s %s %s", s.resource, next.Type, name, meta.ResourceVersion)
		return nil
	}
	if p.faults.any(delayed, merged) && p.faults.chance(25, "delay", parts) {
		s.delay(time.Duration(p.faults.number(uint64(maxDelay), "time", parts)))
	}
	p.trace.setBusy(s.resource)
	p.trace.add("event", "%s %s %s %s %s", s.resource, next.Type, name, meta.UID, meta.ResourceVersion)
	if p.faults.any(repeated) && p.faults.chance(40, "repeat", parts) {
		p.trace.add("repeated", "%s %s %s %s", s.resource, next.Type, name, meta.ResourceVersion)
		return []event{next, next}
	}
	return []event{next}
}

// merge replaces an event and the next one of the same object by one. It reports false if there is no such event yet.
func (s *stream) merge(first event) bool {
	if first.Type == watch.Deleted {
		return false
	}
	i := slices.IndexFunc(s.queue, func(other event) bool {
		return other.Type != watch.Bookmark && other.meta.Metadata.UID == first.meta.Metadata.UID
	})
	switch {
	case i < 0:
		return false
	case first.Type == watch.Added && s.queue[i].Type == watch.Deleted:
		s.queue = slices.Delete(s.queue, i, i+1)
	case first.Type == watch.Added:
		s.queue[i].Type = watch.Added
	}
	return true
}

// delay waits without the lock of the proxy, which the caller holds.
func (s *stream) delay(wait time.Duration) {
	p := s.life.proxy
	p.mu.Unlock()
	defer p.mu.Lock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.life.dead:
	}
}
