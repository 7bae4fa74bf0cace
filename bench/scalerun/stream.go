package scalerun

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// stream is a watch that starts again when it ends, as an informer of client-go.
type stream struct {
	client *side.Client
	// path has a query. resource names the objects in the result.
	path, resource string
	// see gets each event, in their order. It may be nil.
	see func(event)
	// revision is that of the last event. It is empty if the watch must begin with all objects.
	revision string
}

// The waits of client-go before a watch starts again: they double, and each is up to twice as long by chance.
const (
	shortestWait = 800 * time.Millisecond
	longestWait  = 30 * time.Second
)

// errEnded is the error of a watch that the server has ended.
var errEnded = errors.New("the server has ended the watch")

// follow keeps the watch open until the context ends.
func (f *fleet) follow(ctx context.Context, s *stream) {
	wait := shortestWait
	for ctx.Err() == nil {
		opened := time.Now()
		err := f.watch(ctx, s)
		if expired(err) {
			s.revision = ""
		}
		if ended := errors.Is(err, errEnded); ended && time.Since(opened) > longestWait {
			wait = shortestWait
			continue // the time of the watch is over
		} else if ended {
			wait = shortestWait
		}
		if pause(ctx, time.Duration(float64(wait)*(1+rand.Float64()))) != nil {
			return
		}
		wait = min(2*wait, longestWait)
	}
}

// expired reports whether the server no longer has the revision of a watch.
func expired(err error) bool {
	var refused *side.StatusError
	return errors.As(err, &refused) && refused.Code == http.StatusGone
}

// watch opens the watch and reads it until it ends.
func (f *fleet) watch(ctx context.Context, s *stream) error {
	verb, query := "watch", "&resourceVersion="+s.revision
	if s.revision == "" {
		verb, query = "list and watch", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	}
	query += fmt.Sprintf("&watch=true&allowWatchBookmarks=true&timeoutSeconds=%d", 300+rand.IntN(300))
	started, initial := time.Now(), s.revision == ""
	answer, err := s.client.Open(ctx, side.Request{Method: http.MethodGet, Path: s.path + query})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// A revision that is too old is no failure of the server: the watch begins again with all objects.
	if !expired(err) && (err != nil || !initial) {
		f.record.request(kind{verb, s.resource}, time.Since(started), 0, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	open := f.opened(!initial)
	defer open.close()
	lines, line, objects := bufio.NewReaderSize(answer.Body, 4<<10), []byte(nil), 0
	for {
		if line, err = readLine(lines, line[:0]); err != nil {
			if initial && ctx.Err() == nil {
				f.record.request(kind{verb, s.resource}, 0, 0, err)
			}
			return fmt.Errorf("%w: %w", errEnded, err)
		}
		e := parseEvent(line)
		e.initial = initial
		switch {
		case e.kind == "ERROR":
			return &side.StatusError{Code: http.StatusGone, Text: string(line)}
		case e.kind == "BOOKMARK" && e.complete:
			f.record.request(kind{verb, s.resource}, time.Since(started), objects, nil)
			initial = false
			open.count()
		case e.kind == "BOOKMARK":
		case initial:
			objects++
		default:
			f.record.event()
			f.lags.arrived(e.revision, time.Now())
		}
		s.revision = e.revision
		if initial {
			s.revision = "" // the objects so far are not all
		}
		if s.see != nil {
			s.see(e)
		}
	}
}

// readLine appends the next line to a buffer.
func readLine(from *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// openWatch is an open watch. It counts when it has all objects.
type openWatch struct {
	fleet   *fleet
	counted bool
}

// opened returns an open watch, which counts now or when count is called.
func (f *fleet) opened(now bool) *openWatch {
	w := &openWatch{fleet: f}
	if now {
		w.count()
	}
	return w
}

func (w *openWatch) count() {
	if !w.counted {
		w.fleet.watches.Add(1)
		w.counted = true
	}
}

func (w *openWatch) close() {
	if w.counted {
		w.fleet.watches.Add(-1)
	}
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
