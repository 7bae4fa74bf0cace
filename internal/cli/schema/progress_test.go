package schema

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var done atomic.Int64
		stop := drawProgress(&out, func() string { return fmt.Sprintf("%d of 20 files", done.Load()) })
		time.Sleep(progressDelay + time.Millisecond)
		done.Store(7)
		time.Sleep(progressInterval)
		stop()
		if got, want := out.String(), "\r\033[K0 of 20 files\r\033[K7 of 20 files\r\033[K"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestNoProgressOfShortRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var done atomic.Int64
		stop := drawProgress(&out, func() string { return fmt.Sprintf("%d of 20 files", done.Load()) })
		time.Sleep(progressDelay - time.Millisecond)
		stop()
		if out.Len() > 0 {
			t.Errorf("got %q", out.String())
		}
	})
}
