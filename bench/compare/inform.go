package compare

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// inform lets a number of informers read a path, each with a connection of its own. An informer whose answer ends early begins again, and
// inform returns how often that happened.
func (l *life) inform(ctx context.Context, path string, informers int) (int64, error) {
	errs := make([]error, informers)
	var again atomic.Int64
	var group sync.WaitGroup
	for i := range informers {
		client, err := l.server.Client(side.Administrator())
		if err != nil {
			return 0, err
		}
		defer client.Close()
		group.Go(func() {
			for ctx.Err() == nil {
				if errs[i] = readAll(ctx, client, path); errs[i] == nil {
					return
				}
				again.Add(1)
				_ = pause(ctx, time.Second) // the loop sees that the context has ended
			}
		})
	}
	group.Wait()
	return again.Load(), errors.Join(errs...)
}

// readAll reads a list to its end, or a watch to the bookmark after all objects, and keeps nothing of it.
func readAll(ctx context.Context, client *side.Client, path string) error {
	request := side.Request{Method: http.MethodGet, Path: path}
	if !strings.Contains(path, "watch=true") {
		_, err := client.Drain(ctx, request)
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := client.Open(ctx, request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewReaderSize(answer.Body, 64<<10)
	for first := true; ; {
		part, err := lines.ReadSlice('\n')
		if first && bytes.HasPrefix(part, []byte(`{"type":"BOOKMARK"`)) {
			return nil
		}
		first = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
