package fairness

import (
	"net/http"
	"sync"
	"time"
)

const (
	// unreadAfter is the time after which an answer that the client does not take counts as unread. The
	// request then gives back its seat.
	unreadAfter = time.Second
	// unreadTimeout is the time in which a client must take a part of its answer. The server then ends
	// the request. It is the time in which Kubernetes ends requests.
	unreadTimeout = time.Minute
)

// answer writes the answer of a request, and notices that the client does not read it. The writes to a client
// that does not read wait for as long as its connection lives.
type answer struct {
	http.ResponseWriter
	// deadline sets the deadline of writes.
	deadline func(time.Time) error
	// unread is closed when the client has not read for unreadAfter.
	unread     chan struct{}
	markUnread func()

	// mu guards the fields below. The timer runs in a goroutine of its own.
	mu      sync.Mutex
	timer   *time.Timer
	writing bool
	// limited is set while there is a deadline.
	limited bool
	// aborted is set when the server does not wait for the client any more.
	aborted bool
}

func newAnswer(w http.ResponseWriter) *answer {
	a := &answer{ResponseWriter: w, deadline: http.NewResponseController(w).SetWriteDeadline, unread: make(chan struct{})}
	a.markUnread = sync.OnceFunc(func() { close(a.unread) })
	return a
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begin() {
		return 0, http.ErrHandlerTimeout
	}
	defer a.end()
	return a.ResponseWriter.Write(p)
}

// begin records that a write begins. It returns false if the answer was aborted.
func (a *answer) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.aborted {
		return false
	}
	a.writing = true
	if a.timer == nil {
		a.timer = time.AfterFunc(unreadAfter, a.wait)
	} else {
		a.timer.Reset(unreadAfter)
	}
	return true
}

// end records that a write has ended.
func (a *answer) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writing = false
	a.timer.Stop()
	if a.limited && !a.aborted {
		a.limited = a.deadline(time.Time{}) != nil
	}
}

// wait is called when a write has waited for unreadAfter.
func (a *answer) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.writing {
		return
	}
	a.markUnread()
	a.limited = a.deadline(time.Now().Add(unreadTimeout-unreadAfter)) == nil
}

// abort ends the answer: a write that waits for the client fails, and so do later ones.
func (a *answer) abort() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.aborted = true
	if a.writing {
		_ = a.deadline(time.Now())
	}
}
