package compare

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// watches is a group of open watches. It counts the events that arrive.
type watches struct {
	events atomic.Int64
	cancel context.CancelFunc
	group  sync.WaitGroup
	// failed has the error of a watch that ended early.
	failed chan error
}

// openAtATime is the number of watches that are opened at a time.
const openAtATime = 16

// openWatches opens n watches of a path, and returns when the server has answered all of them.
func openWatches(ctx context.Context, client *side.Client, path string, n int) (*watches, error) {
	return openEach(ctx, client, n, func(int) string { return path })
}

// openEach opens n watches, each of a path of its own.
func openEach(ctx context.Context, client *side.Client, n int, path func(i int) string) (*watches, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watches{cancel: cancel, failed: make(chan error, n)}
	answered := make(chan error, n)
	slots := make(chan struct{}, openAtATime)
	for i := range n {
		w.group.Go(func() {
			slots <- struct{}{}
			answer, err := client.Open(ctx, side.Request{Method: http.MethodGet, Path: path(i)})
			<-slots
			answered <- err
			if err != nil {
				return
			}
			defer func() { _ = answer.Body.Close() }()
			if err := w.count(answer); ctx.Err() == nil {
				w.failed <- fmt.Errorf("a watch ended early: %w", err)
			}
		})
	}
	for range n {
		if err := <-answered; err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// count counts events until the watch ends. An event is one line.
func (w *watches) count(answer *http.Response) error {
	lines := bufio.NewReaderSize(answer.Body, 4<<10)
	for {
		_, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull): // the line goes on
		case err != nil:
			return err
		default:
			w.events.Add(1)
		}
	}
}

// await waits until n events have arrived in total, for at most a minute.
func (w *watches) await(n int) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		select {
		case err := <-w.failed:
			return err
		default:
		}
		if w.events.Load() >= int64(n) {
			return nil
		}
	}
	return fmt.Errorf("%d of %d events arrived in a minute", w.events.Load(), n)
}

func (w *watches) close() {
	w.cancel()
	w.group.Wait()
}
