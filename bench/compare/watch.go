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
	ctx, cancel := context.WithCancel(ctx)
	w := &watches{cancel: cancel, failed: make(chan error, n)}
	answered := make(chan error, n)
	slots := make(chan struct{}, openAtATime)
	for range n {
		w.group.Go(func() {
			slots <- struct{}{}
			answer, err := client.Open(ctx, side.Request{Method: http.MethodGet, Path: path})
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

// changes is the number of changes in a sample of the row about watches.
const changes = 10

// watches measures a change that goes to many watches.
func (r *runner) watches(ctx context.Context) error {
	return r.serve(ctx, func(servers []*side.Server) error {
		if err := r.define(ctx, servers, customResource(r.settings)); err != nil {
			return err
		}
		name := fmt.Sprintf("change that goes to %d watches", r.settings.Watches)
		return r.takeTurns(servers, Row{Section: "watches", Name: name, Unit: "ms", Goal: 0.5}, func(server *side.Server) (Sample, error) {
			return fanOut(ctx, server, r.settings)
		})
	})
}

// fanOut measures the CPU time of a server for a change of a custom resource that n watches get.
func fanOut(ctx context.Context, server *side.Server, s Settings) (Sample, error) {
	client, err := server.Client(side.Administrator())
	if err != nil {
		return Sample{}, err
	}
	defer client.Close()
	w := &worker{Client: client, target: customResource(s).target(), name: "watched"}
	if err := createOwn(ctx, w); err != nil {
		return Sample{}, err
	}
	open, err := openWatches(ctx, client, w.path+"?watch=true&resourceVersion="+w.revision, s.Watches)
	if err != nil {
		return Sample{}, err
	}
	defer open.close()
	events := 0
	change := func(ctx context.Context, w *worker) error {
		if err := sendMergePatch(ctx, w); err != nil {
			return err
		}
		events += s.Watches
		return open.await(events)
	}
	if err := change(ctx, w); err != nil {
		return Sample{}, err
	}
	used, err := measure(server, func() error { return sendAll(ctx, []*worker{w}, changes, change) })
	if err != nil {
		return Sample{}, err
	}
	return used.perRequest(changes, 1), nil
}
