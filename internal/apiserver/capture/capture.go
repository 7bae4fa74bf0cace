// Package capture serves requests inside the server and keeps the responses. [Get] is for handlers
// that answer with something that they compute from an object.
//
//	read := capture.Get(next, req, "application/json")
//	if read.Code != http.StatusOK {
//		read.Replay(w)
//		return
//	}
//
// The request keeps its context, so the handlers see the user, and the audit log the read. The
// caller has authorized the request.
//
// [Transport] is for parts of the server that send requests as clients do, and pass values to the storage in the context:
//
//	client, err := kubernetes.NewForConfig(capture.Transport{Handler: server.Handler}.Config(loopback))
//
// Such a request is authenticated, authorized, admitted and audited like any other. Everything here is safe for concurrent use.
package capture

import (
	"maps"
	"net/http"
)

// Response is a response that was kept instead of sent. It implements http.ResponseWriter.
type Response struct {
	Code int
	Body []byte

	header http.Header
}

// Get serves a request for the same path with another media type, without the query parameters
// drop, and returns the response.
func Get(next http.Handler, req *http.Request, accept string, drop ...string) *Response {
	inner := req.Clone(req.Context())
	query := inner.URL.Query()
	for _, name := range drop {
		query.Del(name)
	}
	inner.URL.RawQuery = query.Encode()
	inner.Header.Set("Accept", accept)
	inner.Header.Del("Accept-Encoding")
	read := &Response{header: http.Header{}, Code: http.StatusOK}
	next.ServeHTTP(read, inner)
	return read
}

// Header implements http.ResponseWriter.
func (r *Response) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *Response) WriteHeader(code int) { r.Code = code }

// Write implements http.ResponseWriter.
func (r *Response) Write(data []byte) (int, error) {
	r.Body = append(r.Body, data...)
	return len(data), nil
}

// Replay sends the response to a client.
func (r *Response) Replay(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.Code)
	// An error means that the client has disconnected.
	_, _ = w.Write(r.Body)
}
