package fairness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bodyTimeout is the time in which the body of a request must arrive.
const bodyTimeout = 10 * time.Second

type bodyKey struct{}

// WithBodies lets the server receive the body of a request before the request takes a
// seat in its priority level. It goes around the whole chain of handlers, and needs the
// FlowControl of NewFlowControl inside of it. Bodies longer than limit are received up to
// limit; the handlers refuse them. The limit must be positive.
func WithBodies(next http.Handler, limit int64) http.Handler {
	return withBodies(next, limit, bodyTimeout)
}

func withBodies(next http.Handler, limit int64, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Body == nil || req.Body == http.NoBody || req.ContentLength == 0 {
			next.ServeHTTP(w, req)
			return
		}
		b := &body{client: req.Body, length: req.ContentLength, deadline: http.NewResponseController(w).SetReadDeadline, limit: limit, timeout: timeout}
		req = req.WithContext(context.WithValue(req.Context(), bodyKey{}, b))
		req.Body = b
		defer b.end()
		next.ServeHTTP(w, req)
	})
}

// bodyOf returns the body that WithBodies put into the context of a request, or nil.
func bodyOf(ctx context.Context) *body {
	b, _ := ctx.Value(bodyKey{}).(*body)
	return b
}

// body is the body of a request. Before receive it reads from the client. After receive it
// reads from memory, and then, if the body is longer than limit, the rest from the client.
type body struct {
	client io.ReadCloser
	// length is what the client says about the length, -1 if it says nothing.
	length   int64
	deadline func(time.Time) error
	limit    int64
	timeout  time.Duration

	// mu guards ended. The handlers run in a goroutine of their own and may go on after
	// the request has ended; net/http does not allow a change of the deadline then.
	mu    sync.Mutex
	ended bool

	received *bytes.Reader
	// err ends the body: io.EOF, or the reason that the rest did not arrive. It is nil
	// while the rest can be read from the client.
	err error
}

// receive reads the body into memory. If that fails, Read returns the error to the handler.
func (b *body) receive() {
	// A connection may not support deadlines, as in tests. Then only the timeout of the
	// request applies.
	limited := b.setDeadline(time.Now().Add(b.timeout))
	data, err := b.read()
	if limited && !errors.Is(err, os.ErrDeadlineExceeded) {
		// Clear the deadline. When it passes, net/http would treat the connection as
		// closed.
		b.setDeadline(time.Time{})
	}
	b.received = bytes.NewReader(data)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.err = tooSlow(b.timeout)
	case err != nil:
		b.err = err
	case int64(len(data)) <= b.limit:
		b.err = io.EOF
	}
}

// believed is the length of a body up to which the server allocates memory before the body has arrived.
const believed = 64 << 10

// read reads the body up to one byte more than its limit.
func (b *body) read() ([]byte, error) {
	stream := io.LimitReader(b.client, b.limit+1)
	if b.length <= 0 || b.length > believed {
		return io.ReadAll(stream)
	}
	var buffer bytes.Buffer
	buffer.Grow(int(b.length) + bytes.MinRead) // ReadFrom grows a buffer with less space than that at its end
	_, err := buffer.ReadFrom(stream)
	return buffer.Bytes(), err
}

// isLate reports whether the body did not arrive within the timeout.
func (b *body) isLate() bool { return apierrors.IsTimeout(b.err) }

// setDeadline sets the deadline of reads from the client, and reports whether it did.
func (b *body) setDeadline(at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.ended && b.deadline(at) == nil
}

// end records that the request has ended.
func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.received != nil {
		if n, err := b.received.Read(p); err == nil {
			return n, nil
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	return b.client.Read(p)
}

// Close implements io.Closer.
func (b *body) Close() error { return b.client.Close() }

// tooSlow returns the error 408, for a request with a body that did not arrive in time.
func tooSlow(timeout time.Duration) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusRequestTimeout, Reason: metav1.StatusReasonTimeout,
		Message: fmt.Sprintf("the body of the request did not arrive within %s", timeout),
	}}
}
