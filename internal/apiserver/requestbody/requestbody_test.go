package requestbody_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

var errBroken = errors.New("connection reset")

func TestBody(t *testing.T) {
	broken := func() io.Reader { return io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(errBroken)) }
	whole := func() io.Reader { return strings.NewReader("abc") }
	tests := map[string]struct {
		body    func() io.Reader
		limit   int64
		want    string
		wantErr func(error) bool
		// left is the text that a handler reads after Peek, and leftErr the error that it
		// gets.
		left    string
		leftErr error
	}{
		"no limit":    {body: whole, want: "abc", left: "abc"},
		"at limit":    {body: whole, limit: 3, want: "abc", left: "abc"},
		"above limit": {body: whole, limit: 2, wantErr: apierrors.IsRequestEntityTooLargeError, left: "abc"},
		"broken": {
			body: broken, limit: 8, wantErr: func(err error) bool { return errors.Is(err, errBroken) },
			left: "ab", leftErr: errBroken,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := func(call string, got []byte, err error) {
				t.Helper()
				if test.wantErr == nil && err != nil || test.wantErr != nil && !test.wantErr(err) {
					t.Errorf("%s: unexpected error %v", call, err)
				}
				if string(got) != test.want {
					t.Errorf("%s: got %q, want %q", call, got, test.want)
				}
			}
			got, err := requestbody.Read(httptest.NewRequest(http.MethodPut, "/", test.body()), test.limit)
			check("Read", got, err)

			req := httptest.NewRequest(http.MethodPut, "/", test.body())
			got, err = requestbody.Peek(req, test.limit)
			check("Peek", got, err)
			left, err := io.ReadAll(req.Body)
			if string(left) != test.left || !errors.Is(err, test.leftErr) {
				t.Errorf("a handler reads %q with error %v, want %q with %v", left, err, test.left, test.leftErr)
			}
		})
	}
}

func TestReplace(t *testing.T) {
	req := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("before"))
	requestbody.Replace(req, []byte("after!"))
	got, err := io.ReadAll(req.Body)
	if err != nil || string(got) != "after!" || req.ContentLength != 6 {
		t.Errorf("got %q of length %d with error %v", got, req.ContentLength, err)
	}
}

func TestMediaType(t *testing.T) {
	req := httptest.NewRequest(http.MethodPut, "/", http.NoBody)
	req.Header.Set("Content-Type", " Application/JSON ; charset=utf-8")
	if got := requestbody.MediaType(req); got != "application/json" {
		t.Errorf("got %q", got)
	}
}
