package capture

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Transport sends the requests of a client to a handler in the same process. It implements http.RoundTripper. It returns when the handler has
// answered, so it is not for watches.
//
// Unlike a connection, it passes on the context of a request with its values.
type Transport struct{ Handler http.Handler }

// Config returns a copy of a client config whose requests the handler serves. They have the credential of the config.
func (t Transport) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.TLSClientConfig, config.Transport = rest.TLSClientConfig{}, t
	config.WarningHandler = rest.NoWarnings{}
	return config
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (answer *http.Response, err error) {
	// A handler ends a request without an answer by a panic, which net/http recovers.
	defer func() {
		if cause := recover(); cause != nil {
			answer, err = nil, fmt.Errorf("%s %s: the server has ended the request: %v", req.Method, req.URL.Path, cause)
		}
	}()
	served := req.Clone(req.Context())
	served.RequestURI, served.Host, served.RemoteAddr = req.URL.RequestURI(), req.URL.Host, "127.0.0.1:0"
	served.Proto, served.ProtoMajor, served.ProtoMinor = "HTTP/2.0", 2, 0
	if served.Body == nil {
		served.Body = http.NoBody
	}
	defer func() { _ = served.Body.Close() }()
	kept := &Response{header: http.Header{}, Code: http.StatusOK}
	t.Handler.ServeHTTP(kept, served)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", kept.Code, http.StatusText(kept.Code)), StatusCode: kept.Code,
		Proto: served.Proto, ProtoMajor: served.ProtoMajor, ProtoMinor: served.ProtoMinor,
		Header: kept.header, Body: io.NopCloser(bytes.NewReader(kept.Body)), ContentLength: int64(len(kept.Body)), Request: req,
	}, nil
}
