// Package requestbody reads the body of a request before the handlers of
// k8s.io/apiserver read it.
//
//	body, err := requestbody.Read(req, limit)     // consumes the body
//	requestbody.Replace(req, body)                // gives the handler a body
//	body, err := requestbody.Peek(req, limit)     // the handler reads the same bytes
//
// A limit is a number of bytes; zero means no limit. [Bound] refuses a text that is nested too deep, and [Levels] counts the levels
// of an object that another form of body or a patch became.
package requestbody

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// MediaType returns the media type of the body of a request, in lower case and without its
// parameters.
func MediaType(req *http.Request) string {
	mediaType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(mediaType))
}

// Read reads the whole body. A body beyond the limit is the error 413 that the
// handlers answer with as well.
func Read(req *http.Request, limit int64) ([]byte, error) {
	data, err := read(req.Body, req.ContentLength, limit)
	if err != nil {
		return nil, err
	}
	if exceeds(data, limit) {
		return nil, tooLarge(limit)
	}
	return data, nil
}

// Replace gives a request another body.
func Replace(req *http.Request, body []byte) {
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// Peek reads the body as Read does and leaves it in the request. A handler then reads the
// same bytes, and gets an error of the connection after the same byte.
func Peek(req *http.Request, limit int64) ([]byte, error) {
	data, err := read(req.Body, req.ContentLength, limit)
	rest := io.Reader(req.Body)
	if err != nil {
		rest = failing{err}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), rest), req.Body}
	if err != nil {
		return nil, err
	}
	if exceeds(data, limit) {
		return nil, tooLarge(limit)
	}
	return data, nil
}

// mostExpected bounds the memory that a body gets before it is read.
const mostExpected = 64 << 10

// read reads at most one byte more than the limit. The memory has the expected length from the beginning, so that it need not grow. A length
// below zero is not known.
func read(body io.Reader, expected, limit int64) ([]byte, error) {
	if limit > 0 {
		body = io.LimitReader(body, limit+1)
	}
	// The buffer reads until the end of the body, and needs some free memory to see the end.
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(expected, 0), mostExpected)+bytes.MinRead))
	_, err := buffer.ReadFrom(body)
	return buffer.Bytes(), err
}

func exceeds(data []byte, limit int64) bool { return limit > 0 && int64(len(data)) > limit }

func tooLarge(limit int64) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
}

// failing is the rest of a body that cannot be read any further.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
