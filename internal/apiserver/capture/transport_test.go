package capture_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver/capture"
)

type valueKey struct{}

// TestTransport passes the context, the credential and the body to the handler, and the answer to the client.
func TestTransport(t *testing.T) {
	t.Parallel()
	transport := capture.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		value, _ := req.Context().Value(valueKey{}).(string)
		w.Header().Set("X-Seen", strings.Join([]string{req.Method, req.RequestURI, req.Header.Get("Authorization"), value, string(body)}, " "))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "answer")
	})}
	client, err := rest.HTTPClientFor(transport.Config(&rest.Config{
		Host: "https://127.0.0.1:1", BearerToken: "token", TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithValue(t.Context(), valueKey{}, "value")
	send := func(path string, body io.Reader) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://127.0.0.1:1"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		return client.Do(req)
	}
	for body, want := range map[string]string{
		"body": "PUT /a?b=c Bearer token value body",
		"":     "PUT /a?b=c Bearer token value ",
	} {
		var reader io.Reader
		if body != "" {
			reader = strings.NewReader(body)
		}
		answer, err := send("/a?b=c", reader)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if got := answer.Header.Get("X-Seen"); err != nil || got != want || answer.StatusCode != http.StatusTeapot || string(text) != "answer" {
			t.Errorf("got %d %q %q, %v, want %q", answer.StatusCode, got, text, err, want)
		}
	}
	answer, err := send("/abort", nil)
	if err == nil {
		_ = answer.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "PUT /abort: the server has ended the request") {
		t.Errorf("a request that the handler ends: %v", err)
	}
}
