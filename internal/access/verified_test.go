package access

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// TestVerifiedCertificates sends one certificate at several times, and counts how often it is verified.
func TestVerifiedCertificates(t *testing.T) {
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	leaf := &x509.Certificate{Raw: []byte("ann"), NotAfter: begin.Add(15 * time.Second)}
	now, roots, calls := begin, x509.NewCertPool(), 0
	v := newVerifiedCertificates(func() (x509.VerifyOptions, bool) { return x509.VerifyOptions{Roots: roots}, roots != nil })
	v.now = func() time.Time { return now }
	v.Request = authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		calls++
		return &authenticator.Response{User: &user.DefaultInfo{Name: "ann"}}, true, nil
	})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	ask := func(certificates ...*x509.Certificate) (*authenticator.Response, bool) {
		t.Helper()
		req.TLS = &tls.ConnectionState{PeerCertificates: certificates}
		response, ok, err := v.AuthenticateRequest(req)
		if err != nil {
			t.Fatal(err)
		}
		return response, ok
	}
	expect := func(what string, want int, certificates ...*x509.Certificate) {
		t.Helper()
		before := calls
		response, ok := ask(certificates...)
		if !ok || response.User.GetName() != "ann" || calls-before != want {
			t.Errorf("%s: %v, verified %d times, want %d", what, response, calls-before, want)
			return
		}
		response.User = &user.DefaultInfo{Name: "changed"} // the next response is not affected
	}
	expect("a new certificate", 1, leaf)
	expect("the same again", 0, leaf)
	expect("another certificate", 1, &x509.Certificate{Raw: []byte("ann"), NotAfter: leaf.NotAfter})
	expect("with an intermediate certificate", 1, leaf, leaf)
	now = begin.Add(verifiedLife)
	expect("ten seconds later", 1, leaf)
	now = begin.Add(14 * time.Second)
	expect("before its end", 0, leaf)
	now = begin.Add(16 * time.Second)
	expect("after its end", 1, leaf)
	now = begin.Add(-time.Hour)
	expect("the clock was set back", 1, leaf)
	roots = x509.NewCertPool()
	expect("other authorities", 1, leaf)
	roots = nil
	if _, ok := ask(leaf); ok {
		t.Error("accepted without authorities")
	}
}
