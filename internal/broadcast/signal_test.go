package broadcast_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"holdfast.dev/holdfast/internal/broadcast"
)

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestSend(t *testing.T) {
	var signal broadcast.Signal
	signal.Send() // nothing waits yet
	first, same := signal.Next(), signal.Next()
	if isClosed(first) || isClosed(same) {
		t.Fatal("a channel is closed before Send")
	}
	signal.Send()
	if !isClosed(first) || !isClosed(same) {
		t.Error("a channel is open after Send")
	}
	second := signal.Next()
	if isClosed(second) {
		t.Error("a channel is closed by a Send before Next")
	}
	signal.Send()
	if !isClosed(second) {
		t.Error("the second channel is open after the second Send")
	}
}

// TestWait changes a value in steps while several goroutines wait for the last one.
// If one of them missed a signal, it would wait forever and the bubble would panic.
func TestWait(t *testing.T) {
	const last = 100
	synctest.Test(t, func(t *testing.T) {
		var signal broadcast.Signal
		var value atomic.Int64
		var waiting sync.WaitGroup
		for range 8 {
			waiting.Go(func() {
				for {
					next := signal.Next()
					if value.Load() == last {
						return
					}
					<-next
				}
			})
		}
		for range last {
			value.Add(1)
			signal.Send()
		}
		waiting.Wait()
	})
}
