package compare

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
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
				if errs[i] = readAll(ctx, client, path, int64(l.settings.Large)*largeSize); errs[i] == nil {
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

// readAll reads a list to its end, or a watch to the bookmark after all objects, and keeps nothing of it. An answer with fewer than a
// number of bytes is an error.
func readAll(ctx context.Context, client *side.Client, path string, least int64) error {
	read := drainList
	if strings.Contains(path, "watch=true") {
		read = drainWatch
	}
	n, err := read(ctx, client, side.Request{Method: http.MethodGet, Path: path})
	if err == nil && n < least {
		return fmt.Errorf("%s: the answer has %d bytes, which is less than the objects have, %d", path, n, least)
	}
	return err
}

func drainList(ctx context.Context, client *side.Client, r side.Request) (int64, error) {
	return client.Drain(ctx, r)
}

// drainWatch returns the number of bytes before the first bookmark.
func drainWatch(ctx context.Context, client *side.Client, r side.Request) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := client.Open(ctx, r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	lines, n := bufio.NewReaderSize(answer.Body, 64<<10), int64(0)
	for first := true; ; {
		part, err := lines.ReadSlice('\n')
		if first && bytes.HasPrefix(part, []byte(`{"type":"BOOKMARK"`)) {
			return n, nil
		}
		n += int64(len(part))
		first = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}
