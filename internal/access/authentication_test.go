package access_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/internal/access"
)

func TestAnonymousFlag(t *testing.T) {
	var mode access.Anonymous
	if got := mode.String(); got != "health" {
		t.Errorf("unset: %s", got)
	}
	for _, value := range []string{"health", "false", "true"} {
		if err := mode.Set(value); err != nil || mode.String() != value {
			t.Errorf("%s: %v, %s", value, err, mode.String())
		}
	}
	if err := mode.Set("maybe"); err == nil || err.Error() != `"maybe" is none of health, false, true` {
		t.Errorf("maybe: %v", err)
	}
}

func TestAuthentication(t *testing.T) {
	authority, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertPEM)
	otherAuthority, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ann := certificateOf(t, authority, access.Subject{User: "ann", Groups: []string{"dev"}})
	annOfOther := certificateOf(t, otherAuthority, access.Subject{User: "ann"})
	serving := certificateOf(t, authority, access.Subject{User: "ann", Hosts: []string{"localhost"}})
	tokens := authenticator.TokenFunc(func(_ context.Context, token string) (*authenticator.Response, bool, error) {
		switch token {
		case "good":
			return &authenticator.Response{User: &user.DefaultInfo{Name: "robot"}}, true, nil
		case "bad":
			return nil, false, errors.New("expired")
		}
		return nil, false, nil
	})
	const anonymous = "system:anonymous [system:unauthenticated]"
	const robot = "robot [system:authenticated]"
	const refused = "refused"
	tests := map[string]struct {
		mode    access.Anonymous
		path    string
		token   string
		cert    *x509.Certificate
		want    string
		wantErr bool
	}{
		"default mode, health path":          {path: "/readyz", want: anonymous},
		"default mode, subpath of health":    {path: "/readyz/etcd", want: refused},
		"default mode, API path":             {path: "/api", want: refused},
		"anonymous never, health path":       {mode: access.AnonymousNever, path: "/readyz", want: refused},
		"anonymous always, API path":         {mode: access.AnonymousAlways, path: "/api", want: anonymous},
		"valid token":                        {path: "/api", token: "good", want: robot},
		"anonymous never, valid token":       {mode: access.AnonymousNever, path: "/api", token: "good", want: robot},
		"anonymous always, bad token":        {mode: access.AnonymousAlways, path: "/api", token: "bad", want: refused, wantErr: true},
		"anonymous always, unknown token":    {mode: access.AnonymousAlways, path: "/api", token: "who", want: refused, wantErr: true},
		"bad token on a health path":         {path: "/readyz", token: "bad", want: refused, wantErr: true},
		"client certificate":                 {path: "/api", cert: ann, want: "ann [dev system:authenticated]"},
		"certificate of another authority":   {path: "/api", cert: annOfOther, want: refused, wantErr: true},
		"serving certificate used as client": {path: "/api", cert: serving, want: refused, wantErr: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			authentication := access.Authentication{
				ClientCA: func() (x509.VerifyOptions, bool) {
					return x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
				},
				Tokens:    []authenticator.Token{tokens},
				Anonymous: test.mode,
			}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
			if test.token != "" {
				request.Header.Set("Authorization", "Bearer "+test.token)
			}
			if test.cert != nil {
				request.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{test.cert}}
			}
			response, ok, err := authentication.Request().AuthenticateRequest(request)
			got := refused
			if ok {
				got = describe(response.User)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != test.wantErr {
				t.Errorf("error %v, user (-want +got):\n%s", err, diff)
			}
		})
	}
}

func describe(u user.Info) string {
	groups := ""
	for i, group := range u.GetGroups() {
		if i > 0 {
			groups += " "
		}
		groups += group
	}
	return u.GetName() + " [" + groups + "]"
}

func certificateOf(t *testing.T, authority *access.Authority, subject access.Subject) *x509.Certificate {
	t.Helper()
	pair, err := authority.Issue(subject, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Leaf
}
