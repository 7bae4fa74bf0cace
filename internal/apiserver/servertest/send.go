package servertest

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// Sender sends requests that benchmarks have prepared: it computes nothing, because a benchmark measures the processor time of the
// client too.
type Sender struct {
	HTTP *http.Client
	URL  string
}

// Request is a prepared request. Without a media type its body is JSON.
type Request struct {
	Method, Path, Media string
	Body                []byte
}

// NewSender returns a sender with the credentials of a client config.
func NewSender(t testing.TB, config *rest.Config) Sender {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return Sender{client, config.Host}
}

// Send sends a request, which must succeed, and returns the body and the header of the answer.
func (s Sender) Send(t testing.TB, r Request) ([]byte, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, s.URL+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", cmp.Or(r.Media, "application/json"))
	res, err := s.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s", r.Method, r.Path, res.StatusCode, body)
	}
	return body, res.Header
}
