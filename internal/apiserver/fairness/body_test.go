package fairness

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A handler reads the whole body, whether or not it was received before, and whether or not
// it is longer than the limit.
func TestBodyIsUnchanged(t *testing.T) {
	for name, receive := range map[string]bool{"received": true, "not received": false} {
		for _, limit := range []int64{3, 5, 100} {
			t.Run(name, func(t *testing.T) {
				text := "hello"
				var got []byte
				var readErr error
				handler := WithBodies(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
					if receive {
						bodyOf(req.Context()).receive()
					}
					got, readErr = io.ReadAll(req.Body)
				}), limit)
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(text)))
				if readErr != nil || string(got) != text {
					t.Errorf("limit %d: read %q, %v, want %q", limit, got, readErr, text)
				}
			})
		}
	}
}

func TestRequestWithoutBody(t *testing.T) {
	handler := WithBodies(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if bodyOf(req.Context()) != nil {
			t.Error("a request without a body has one to receive")
		}
	}), 10)
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
}

// slowReader returns a few bytes and then the error of a deadline that passed.
type slowReader struct{ text string }

func (r *slowReader) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

func (*slowReader) Close() error { return nil }

func TestSlowBody(t *testing.T) {
	var deadlines []time.Time
	b := &body{client: &slowReader{"part"}, limit: 100, timeout: time.Minute, deadline: func(at time.Time) error {
		deadlines = append(deadlines, at)
		return nil
	}}
	b.receive()
	got, err := io.ReadAll(b)
	if string(got) != "part" || !apierrors.IsTimeout(err) {
		t.Errorf("read %q, %v, want the part that arrived and a timeout", got, err)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusRequestTimeout {
		t.Errorf("error %v, want one with the code 408", err)
	}
	if len(deadlines) != 1 || deadlines[0].IsZero() {
		t.Errorf("deadlines %v, want the one that passed", deadlines)
	}
}

// A handler may go on after the request has ended. The deadline of the connection is left
// alone then.
func TestDeadlineAfterTheEnd(t *testing.T) {
	b := &body{client: io.NopCloser(strings.NewReader("text")), limit: 100, timeout: time.Minute, deadline: func(time.Time) error {
		t.Error("the deadline was set after the end of the request")
		return nil
	}}
	b.end()
	b.receive()
	if got, err := io.ReadAll(b); string(got) != "text" || err != nil {
		t.Errorf("read %q, %v, want the text", got, err)
	}
}
