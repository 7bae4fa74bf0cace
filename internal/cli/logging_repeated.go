package cli

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// repeatedLines is the number of lines that one place in the code may log in a second.
const repeatedLines = 20

// repeated counts the lines that each place in the code logs, and says which to leave out. The libraries
// log an error for each request that its client cancels. A client that cancels thousands of requests
// would fill the disk, and all requests would wait for the log.
type repeated struct {
	mu sync.Mutex
	// begin is the begin of the second that is counted.
	begin time.Time
	lines map[place]int
	// omitted is the number of lines that were left out in this second.
	omitted int
}

// place is a place in the code. A line of klog's unstructured functions has no place, and its
// first characters stand for it.
type place struct {
	pc   uintptr
	text string
}

func placeOf(record slog.Record) place {
	if record.PC != 0 {
		return place{pc: record.PC}
	}
	return place{text: record.Message[:min(len(record.Message), 20)]}
}

// allow reports whether to log a record. If a new second has begun, it also returns the number of lines
// that were left out before.
func (r *repeated) allow(record slog.Record) (ok bool, omitted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := record.Time.Sub(r.begin); since < 0 || since >= time.Second {
		omitted = r.omitted
		r.begin, r.lines, r.omitted = record.Time, map[place]int{}, 0
	}
	at := placeOf(record)
	if r.lines[at]++; r.lines[at] > repeatedLines {
		r.omitted++
		return false, omitted
	}
	return true, omitted
}

// handle logs a record, unless its place has logged too many.
func (r *repeated) handle(ctx context.Context, to slog.Handler, record slog.Record) error {
	ok, omitted := r.allow(record)
	if omitted > 0 {
		summary := slog.NewRecord(record.Time, slog.LevelWarn, "lines that repeat others were left out of the log", 0)
		summary.Add("lines", omitted)
		if err := to.Handle(ctx, summary); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	return to.Handle(ctx, record)
}
