package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/watchcheck"
)

// resumes is the number of old revisions at which each stream is resumed at the end of a test.
const resumes = 2

// resumedStream is what a watch showed that began at an old revision.
type resumedStream struct {
	kind     *streamKind
	recorded *watchcheck.Stream
}

var errNotShown = errors.New("a stream has not shown the last write")

// finish writes a last object, and waits until every stream has shown it. Then it watches again from revisions that the streams have seen.
func (s *streams) finish(ctx context.Context, t *testing.T) []*resumedStream {
	t.Helper()
	marks := s.writer.mark(ctx, t)
	for _, one := range s.all {
		if one.failure() != nil {
			return nil // the check tells it
		}
	}
	waittest.Until(t, "every stream shows the last write", func() error {
		for _, one := range s.all {
			if position := one.position.Load(); position < marks[one.kind] {
				return fmt.Errorf("%w at %d: %s is at %d", errNotShown, marks[one.kind], one.variant, position)
			}
		}
		return nil
	})
	var resumed []*resumedStream
	for _, one := range s.all {
		one.mutex.Lock()
		seen := one.recorded.Revisions()
		one.mutex.Unlock()
		for range resumes {
			s.mutex.Lock()
			from := seen[s.random.IntN(len(seen))]
			s.mutex.Unlock()
			if again := s.resume(ctx, t, one.variant, from, marks[one.kind]); again != nil {
				resumed = append(resumed, again)
			}
		}
	}
	return resumed
}

// resume watches from a revision to another one. It returns nil if the server has not the history any more.
func (s *streams) resume(ctx context.Context, t *testing.T, v variant, from, until uint64) *resumedStream {
	t.Helper()
	if from >= until {
		return nil
	}
	var again *stream
	waittest.Until(t, fmt.Sprintf("%s shows all from %d to %d", v, from, until), func() error {
		again = &stream{variant: v, set: s, known: true}
		again.recorded = watchcheck.Stream{Name: fmt.Sprintf("%s, resumed at %d", v, from), Form: v.shows(), Selects: v.selects}
		again.position.Store(from)
		server, c := s.server()
		reached, stop := context.WithCancel(ctx)
		defer stop()
		err := again.watch(reached, c, url.Values{"timeoutSeconds": {"30"}}, func(e wireEvent) {
			again.take(e)
			if again.position.Load() >= until {
				stop()
			}
		})
		switch {
		case again.position.Load() >= until:
			return nil
		case isGone(err):
			again = nil
			return nil
		}
		again.failed(err, server)
		return errors.Join(errNotShown, err)
	})
	if again == nil {
		return nil
	}
	return &resumedStream{v.kind, &again.recorded}
}
