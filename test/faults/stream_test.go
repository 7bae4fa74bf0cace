package faults_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/holdfast/internal/watchcheck"
)

// stream lists and watches objects as a client does: when its watch ends, it resumes at the last revision that it has seen, and after 410 it
// lists again. It records what it gets.
type stream struct {
	variant
	set *streams
	// position is the last revision that the stream has shown.
	position atomic.Uint64

	mutex    sync.Mutex
	recorded watchcheck.Stream
	// known says that the stream has listed, so that it can resume.
	known bool
	// expired counts the answers 410.
	expired int
	// problem is an answer that the client cannot understand.
	problem error
}

// run watches until ctx ends.
func (s *stream) run(ctx context.Context) {
	for ctx.Err() == nil {
		server, c := s.set.server()
		if err := s.follow(ctx, c); err != nil {
			s.failed(err, server)
			// The pause keeps a stream of a dead server from taking all of the processor.
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// failed handles an error of a list or a watch.
func (s *stream) failed(err error, server *server) {
	switch classify(err).code {
	case http.StatusGone:
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.known = false
		s.expired++
	case http.StatusUnauthorized:
		s.set.renew(server) // the certificate of the client has ended
	case http.StatusNotAcceptable:
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.problem = err
	}
}

// follow lists if needed, and watches until the watch ends.
func (s *stream) follow(ctx context.Context, c *client) error {
	if !s.known && !s.initial {
		if err := s.list(ctx, c); err != nil {
			return err
		}
	}
	query := url.Values{"timeoutSeconds": {strconv.Itoa(s.set.seconds())}}
	if s.initial && !s.known {
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", "NotOlderThan")
	}
	return s.watch(ctx, c, query, func(e wireEvent) { s.take(e) })
}

func (s *stream) list(ctx context.Context, c *client) error {
	body, err := c.rest.Get().RequestURI(s.path+"?"+s.query.Encode()).SetHeader("Accept", s.accept(true)).MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return err
	}
	revision, objects, err := s.decodeList(body)
	if err != nil {
		s.broken(err)
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.recorded.Listed(revision, objects)
	s.position.Store(revision)
	s.known = true
	return nil
}

// watch watches from the position of the stream, and calls take for each event.
func (s *stream) watch(ctx context.Context, c *client, more url.Values, take func(wireEvent)) error {
	query, from := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}}, s.position.Load()
	for _, values := range []url.Values{s.query, more} {
		for name := range values {
			query.Set(name, values.Get(name))
		}
	}
	if from > 0 {
		query.Set("resourceVersion", strconv.FormatUint(from, 10))
	}
	body, err := c.rest.Get().RequestURI(s.path+"?"+query.Encode()).SetHeader("Accept", s.accept(false)).MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	s.mutex.Lock()
	if more.Get("sendInitialEvents") != "" {
		s.recorded.BeganInitial(from)
	} else {
		s.recorded.Began(from)
	}
	s.mutex.Unlock()
	for next := s.events(body); ; {
		e, err := next()
		switch {
		case errors.Is(err, errUndecodable):
			s.broken(err)
			return err
		case err != nil:
			return nil // the connection has ended, or the watch
		case e.kind == "ERROR":
			return e.status()
		}
		take(e)
	}
}

// take records an event.
func (s *stream) take(e wireEvent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	revision := watchcheck.RevisionOf(e.object)
	switch {
	case e.kind != "BOOKMARK":
		s.recorded.Event(e.kind, e.object)
	case e.endsInitial():
		s.recorded.InitialEnd(revision)
		s.known = true
	default:
		s.recorded.Bookmark(revision)
	}
	if s.known {
		// The deletion of a replacement has a lower revision than other events may have had. A client resumes there.
		s.position.Store(revision)
	}
}

// failure returns an answer that the client cannot understand, nil if there was none.
func (s *stream) failure() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.problem
}

// broken records an answer that cannot be decoded.
func (s *stream) broken(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.problem = err
}
