package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// progressInterval is the time after which a command shows that it still works, and the interval
// at which it does so again.
const progressInterval = 2 * time.Second

// startProgress prints a line about a command every two seconds, until stop is called. A command
// that ends earlier prints nothing. stop may be called once.
func startProgress(out io.Writer, line func() string) (stop func()) {
	ended, started := make(chan struct{}), time.Now()
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-ticker.C:
				fmt.Fprintf(out, "%s (%s)\n", line(), now.Sub(started).Round(time.Second))
			}
		}
	})
	return func() {
		close(ended)
		running.Wait()
	}
}

// countingWriter counts the bytes that are written through it.
type countingWriter struct {
	io.Writer
	written atomic.Int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.written.Add(int64(n))
	return n, err
}

// megabytes returns what was written so far, for a line of progress.
func (c *countingWriter) megabytes() string {
	return fmt.Sprintf("%.1f MB", float64(c.written.Load())/1e6)
}
