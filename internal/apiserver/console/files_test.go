package console_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/console"
)

// TestFiles checks the page: every client gets it, and the headers limit what it can do.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := start(t, apiserver.Config{Console: true})
	for _, path := range console.Paths()[1:] {
		got := s.send(t, s.anonymous, http.MethodGet, path)
		if got.code != http.StatusOK || got.body == "" {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s: %q, want %q", path, name, got.header.Get(name), want)
			}
		}
		policy := got.header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'",
			"require-trusted-types-for 'script'",
		} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: policy %q, want %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: policy %q, cookie %q", path, policy, got.header.Get("Set-Cookie"))
		}
		for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "localStorage", "sessionStorage"} {
			if strings.Contains(got.body, forbidden) {
				t.Errorf("%s contains %s", path, forbidden)
			}
		}
	}
	page := s.send(t, s.anonymous, http.MethodGet, console.Path)
	for _, outside := range []string{"http://", "https://", " style=", " onclick=", "<style"} {
		if strings.Contains(page.body, outside) {
			t.Errorf("the page contains %q", outside)
		}
	}
	unchanged := s.send(t, s.anonymous, http.MethodGet, console.Path, "If-None-Match", page.header.Get("ETag"))
	if unchanged.code != http.StatusNotModified {
		t.Errorf("an unchanged page: %d", unchanged.code)
	}
	for name, test := range map[string]struct {
		client       *http.Client
		method, path string
		want         int
	}{
		"without the slash":    {s.anonymous, http.MethodGet, "/console", http.StatusMovedPermanently},
		"no such file":         {s.admin, http.MethodGet, "/console/none.js", http.StatusNotFound},
		"other paths":          {s.anonymous, http.MethodGet, "/console/none.js", http.StatusUnauthorized},
		"a write":              {s.admin, http.MethodPost, "/console/", http.StatusMethodNotAllowed},
		"the API":              {s.anonymous, http.MethodGet, "/api", http.StatusUnauthorized},
		"a wrong token":        {s.anonymous, http.MethodGet, "/api", http.StatusUnauthorized},
		"data without a token": {s.anonymous, http.MethodGet, "/api/v1/namespaces/default", http.StatusUnauthorized},
	} {
		if got := s.send(t, test.client, test.method, test.path, "Accept", console.MediaType); got.code != test.want {
			t.Errorf("%s: %d, want %d: %s", name, got.code, test.want, got.body)
		}
	}
	if got := s.send(t, s.anonymous, http.MethodGet, console.Path, "Authorization", "Bearer nobody-token"); got.code != http.StatusOK {
		t.Errorf("a user without roles: %d", got.code)
	}
}

// TestFilesShareAConnection checks that the connection of a browser stays open while it loads the
// files.
func TestFilesShareAConnection(t *testing.T) {
	t.Parallel()
	s := start(t, apiserver.Config{Console: true})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.Config(t).CAData)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	browser := &http.Client{Transport: transport}
	for i, path := range console.Paths()[1:] {
		var reused bool
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, s.URL()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.ProtoMajor != 2 || reused != (i > 0) {
			t.Errorf("%s: %s, on a connection that was open: %v", path, resp.Proto, reused)
		}
	}
}

// TestFilesAndFlags checks a server without the console, and one without anonymous requests.
func TestFilesAndFlags(t *testing.T) {
	t.Parallel()
	off := start(t, apiserver.Config{Anonymous: access.AnonymousAlways})
	if got := off.send(t, off.admin, http.MethodGet, console.Path); got.code != http.StatusNotFound {
		t.Errorf("the page without the console: %d", got.code)
	}
	// The server must not answer with the object, which may be a Secret.
	got := off.send(t, off.admin, http.MethodGet, "/api/v1/namespaces/default", "Accept", console.MediaType)
	if got.code != http.StatusNotAcceptable {
		t.Errorf("a report without the console: %d %s", got.code, got.body)
	}
	closed := start(t, apiserver.Config{Console: true, Anonymous: access.AnonymousNever, Ownership: "off"})
	if got := closed.send(t, closed.anonymous, http.MethodGet, console.Path); got.code != http.StatusUnauthorized {
		t.Errorf("the page with --anonymous-auth=false: %d", got.code)
	}
	if got := closed.send(t, closed.admin, http.MethodGet, console.Path); got.code != http.StatusOK {
		t.Errorf("the page for a client certificate: %d", got.code)
	}
	if report, _ := closed.report(t, "/api/v1/namespaces/default"); report.Object.Name != "default" || len(report.Fields) == 0 {
		t.Errorf("a report with --ownership=off: %+v", report)
	}
}
