package fairness

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// fullConnection is a connection to a client that does not read: a write ends at its deadline.
type fullConnection struct {
	*httptest.ResponseRecorder
	mu    sync.Mutex
	timer *time.Timer
	ended chan struct{}
}

func newFullConnection() *fullConnection {
	return &fullConnection{ResponseRecorder: httptest.NewRecorder(), ended: make(chan struct{})}
}

// SetWriteDeadline is what http.ResponseController calls.
func (c *fullConnection) SetWriteDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	if !at.IsZero() {
		c.timer = time.AfterFunc(time.Until(at), func() { close(c.ended) })
	}
	return nil
}

func (c *fullConnection) Write([]byte) (int, error) {
	<-c.ended
	return 0, os.ErrDeadlineExceeded
}

// oneSeat is a priority level with one seat.
type oneSeat struct {
	flowcontrol.Interface
	seat chan struct{}
}

func (l oneSeat) Handle(
	_ context.Context, _ flowcontrol.RequestDigest, _ func(*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, string),
	_ func() fcrequest.WorkEstimate, _ fq.QueueNoteFn, execute func(),
) {
	l.seat <- struct{}{}
	defer func() { <-l.seat }()
	execute()
}

// handleAs sends a request of a user through the levels.
func handleAs(ctx context.Context, levels flowcontrol.Interface, name string, to *answer, execute func()) {
	ctx = context.WithValue(ctx, detachedKey{}, &detached{client: ctx, leave: func() {}, answer: to})
	levels.Handle(ctx, flowcontrol.RequestDigest{User: &user.DefaultInfo{Name: name}}, nil, nil, nil, execute)
}

// A client that does not read its answer gives back its seat after a second, and its request ends after a
// minute.
func TestUnreadAnswerGivesItsSeatBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		levels, begin := NewFlowControl(oneSeat{seat: make(chan struct{}, 1)}), time.Now()
		var waiting sync.WaitGroup
		waiting.Go(func() {
			to := newAnswer(newFullConnection())
			handleAs(t.Context(), levels, "silent", to, func() {
				if _, err := to.Write([]byte("text")); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the write to a client that does not read: %v", err)
				}
			})
			if after := time.Since(begin); after != unreadTimeout {
				t.Errorf("the request ended after %s", after)
			}
		})
		synctest.Wait()
		handleAs(t.Context(), levels, "other", newAnswer(httptest.NewRecorder()), func() {
			if after := time.Since(begin); after != unreadAfter {
				t.Errorf("another request got the seat after %s", after)
			}
		})
		waiting.Wait()
	})
}

// The server waits for a bounded number of unread answers of a user, and ends others.
func TestUnreadAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		levels, begin := NewFlowControl(oneSeat{seat: make(chan struct{}, maxUnread+1)}), time.Now()
		var waiting sync.WaitGroup
		var mu sync.Mutex
		ended := map[time.Duration]int{}
		for range maxUnread + 1 {
			waiting.Go(func() {
				to := newAnswer(newFullConnection())
				handleAs(t.Context(), levels, "silent", to, func() { _, _ = to.Write([]byte("text")) })
				if _, err := to.Write([]byte("more")); time.Since(begin) == unreadAfter && !errors.Is(err, http.ErrHandlerTimeout) {
					t.Errorf("a write after the end: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended[time.Since(begin)]++
			})
		}
		waiting.Wait()
		if ended[unreadAfter] != 1 || ended[unreadTimeout] != maxUnread {
			t.Errorf("requests ended after %v, want one after %s and %d after %s", ended, unreadAfter, maxUnread, unreadTimeout)
		}
	})
}

// A panic of a handler reaches the filters outside of the priority levels.
func TestPanicInSeat(t *testing.T) {
	defer func() {
		if got := recover(); got != "handler" {
			t.Errorf("recovered %v", got)
		}
	}()
	levels := NewFlowControl(oneSeat{seat: make(chan struct{}, 1)})
	handleAs(t.Context(), levels, "user", newAnswer(httptest.NewRecorder()), func() { panic("handler") })
}
