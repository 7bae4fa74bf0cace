// Package waittest waits in tests for what a controller, another goroutine or another process does.
//
//	waittest.Until(t, "the pod is gone", func() bool { return isGone(pod) })
//	waittest.Until(t, "the client creates the pod", func() error { return create(pod) })
//	event := waittest.Receive(t, "an event of the watch", watcher.ResultChan())
//
// A wait ends as soon as the condition holds. It fails only after Patience, so that a test also passes on a busy machine. The
// message then says what the test waited for, how long, and what the last check found.
package waittest

import (
	"errors"
	"time"
)

// Patience is how long a test waits. It is so long that only a test that hangs reaches it, also on a busy machine.
const Patience = 5 * time.Minute

const (
	// interval is the time between two checks.
	interval = 10 * time.Millisecond
	// reserve is how long before the deadline of `go test -timeout` a wait fails. After the deadline the test process would
	// print the stacks of all goroutines instead of the message.
	reserve = 15 * time.Second
)

// TB is the part of testing.TB that a wait needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Check is a condition. It holds when the function returns true, or no error. The error says what is still missing.
type Check interface {
	func() bool | func() error
}

// Until calls check until the condition holds. It fails the test if this takes longer than Patience. The argument what is the
// condition, in words.
func Until[C Check](t TB, what string, check C) {
	t.Helper()
	begin, end := time.Now(), deadline(t)
	for {
		err := found(check)
		if err == nil {
			return
		}
		if !time.Now().Before(end) {
			waited := time.Since(begin).Round(time.Second)
			if errors.Is(err, errFalse) {
				t.Fatalf("waited %s for: %s", waited, what)
			} else {
				t.Fatalf("waited %s for: %s; the last check: %v", waited, what, err)
			}
			return
		}
		time.Sleep(interval)
	}
}

// errFalse is the error of a check that returns false.
var errFalse = errors.New("false")

// found calls a check and returns why its condition does not hold, or nil.
func found[C Check](check C) error {
	switch check := any(check).(type) {
	case func() error:
		return check()
	case func() bool:
		if !check() {
			return errFalse
		}
	}
	return nil
}

// Receive returns the next value of a channel, or the zero value if the channel is closed. It fails the test if this takes longer
// than Patience. The argument what is the value, in words.
func Receive[V any](t TB, what string, from <-chan V) V {
	t.Helper()
	begin := time.Now()
	select {
	case value := <-from:
		return value
	case <-time.After(time.Until(deadline(t))):
		t.Fatalf("waited %s for: %s", time.Since(begin).Round(time.Second), what)
		var none V
		return none
	}
}

// deadline returns when a wait that begins now fails.
func deadline(t TB) time.Time {
	end := time.Now().Add(Patience)
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if last, set := limited.Deadline(); set && last.Add(-reserve).Before(end) {
			return last.Add(-reserve)
		}
	}
	return end
}
