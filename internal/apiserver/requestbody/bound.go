package requestbody

import (
	"bytes"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/nesting"
)

// Bound limits the nesting of request bodies, see package nesting. The handler gets the error 400
// when it reads the body, before it decodes anything. Bodies longer than limit bytes pass, because
// the handlers refuse them. Protobuf passes too: its messages have a fixed depth, and the codecs of
// the server check the JSON inside of them.
func Bound(next http.Handler, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Body == nil || req.Body == http.NoBody || req.ContentLength == 0 || isProxied(req) {
			next.ServeHTTP(w, req)
			return
		}
		switch MediaType(req) {
		case "", runtime.ContentTypeJSON, string(types.MergePatchType), string(types.StrategicMergePatchType):
			req.Body = &scanned{ReadCloser: req.Body}
		case runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType):
			req.Body = &buffered{ReadCloser: req.Body, limit: limit, check: nesting.YAML}
		case string(types.JSONPatchType):
			req.Body = &buffered{ReadCloser: req.Body, limit: limit, check: nesting.Patch}
		}
		next.ServeHTTP(w, req)
	})
}

// isProxied reports whether the server forwards the request to a pod or a node, and does not read
// its body.
func isProxied(req *http.Request) bool {
	info, ok := request.RequestInfoFrom(req.Context())
	return ok && info.IsResourceRequest && info.Subresource == "proxy"
}

// tooDeep is the answer to a body with too many levels.
func tooDeep(err error) error { return apierrors.NewBadRequest(err.Error()) }

// scanned is a body in JSON. It counts levels while the handler reads.
type scanned struct {
	io.ReadCloser
	scanner nesting.Scanner
	err     error
}

// Read implements io.Reader.
func (s *scanned) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.ReadCloser.Read(p)
	if !s.scanner.Scan(p[:n]) {
		s.err = tooDeep(nesting.Error{What: "the body"})
		return 0, s.err
	}
	return n, err
}

// buffered is a body that must be complete before its levels can be counted.
type buffered struct {
	io.ReadCloser
	limit int64
	check func([]byte) error
	// read is what the handler reads; nil before the first Read.
	read io.Reader
}

// Read implements io.Reader.
func (b *buffered) Read(p []byte) (int, error) {
	if b.read == nil {
		b.read = b.receive()
	}
	return b.read.Read(p)
}

// receive reads the body and checks it.
func (b *buffered) receive() io.Reader {
	data, err := read(b.ReadCloser, -1, b.limit)
	switch {
	case err != nil:
		return io.MultiReader(bytes.NewReader(data), failing{err})
	case exceeds(data, b.limit):
		return io.MultiReader(bytes.NewReader(data), b.ReadCloser)
	}
	if err := b.check(data); err != nil {
		return failing{tooDeep(err)}
	}
	return bytes.NewReader(data)
}
