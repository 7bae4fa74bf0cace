package token_test

import (
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"

	"holdfast.dev/holdfast/internal/access/token"
)

// TestRejectedTokens covers tokens with a wrong time, audience, issuer or
// signature, and tokens that are bound to deleted objects.
func TestRejectedTokens(t *testing.T) {
	f := newFixture(t)
	core := f.client.CoreV1()
	good := f.issue(t, `{}`)
	podBound := f.issue(t, `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p}}`)
	secretBound := f.issue(t, `{boundObjectRef: {apiVersion: v1, kind: Secret, name: s}}`)
	nodeBound := f.issue(t, `{boundObjectRef: {apiVersion: v1, kind: Node, name: n1}}`)
	forVault := f.issue(t, `{audiences: [vault]}`)
	authenticate := func(tokens *token.Authenticator, bearer string) string {
		_, ok, err := tokens.AuthenticateToken(t.Context(), bearer)
		switch {
		case ok:
			return "accepted"
		case err == nil:
			return "unknown"
		case strings.Contains(err.Error(), bearer[len(bearer)/2:]):
			t.Error("the token is in the error")
		}
		return err.Error()
	}
	// after returns an authenticator with a clock that is ahead by d.
	after := func(d time.Duration) *token.Authenticator {
		return token.NewAuthenticator(f.issuer.WithClock(func() time.Time { return time.Now().Add(d) }), f.objects, api)
	}
	newIssuer := func(name string) *token.Issuer {
		issuer, err := token.NewIssuer(name, newKey(t))
		if err != nil {
			t.Fatal(err)
		}
		return issuer
	}
	robot := token.Holder{Namespace: namespace, ServiceAccount: token.Ref{Name: "robot", UID: "x"}}
	forged, err := newIssuer(issuerName).Issue(robot, api, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	otherIssuer := token.NewAuthenticator(newIssuer("https://other"), f.objects, api)
	for name, test := range map[string]struct {
		tokens       *token.Authenticator
		bearer, want string
	}{
		"valid":                        {f.tokens, good, "accepted"},
		"shortly before expiry":        {after(59 * time.Minute), good, "accepted"},
		"expired":                      {after(61 * time.Minute), good, "service account token has expired"},
		"not valid yet":                {after(-time.Minute), good, "service account token is not valid yet"},
		"not valid yet, in clock skew": {after(-5 * time.Second), good, "accepted"},
		"other audience":               {f.tokens, forVault, `token audiences ["vault"] is invalid for the target audiences ["api"]`},
		"signed with another key":      {f.tokens, forged.Token, "invalid bearer token: signature"},
		"not signed":                   {f.tokens, unsigned(t, good), "invalid bearer token: signature"},
		"HMAC with the public key":     {f.tokens, symmetric(t, good, f), "invalid bearer token: signature"},
		"changed claims":               {f.tokens, changed(good), "invalid bearer token: signature"},
		"not a JWT":                    {f.tokens, "opaque-bearer-value", "unknown"},
		"not a JWT, three parts":       {f.tokens, "a.b.c", "unknown"},
		"other issuer":                 {otherIssuer, good, "unknown"},
		"bound to a pod":               {f.tokens, podBound, "accepted"},
		"bound to a secret":            {f.tokens, secretBound, "accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := authenticate(test.tokens, test.bearer); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}

	vault := authenticator.Audiences{"vault"}
	response, ok, err := f.tokens.AuthenticateToken(authenticator.WithAudiences(t.Context(), vault), forVault)
	if !ok || !cmp.Equal(response.Audiences, vault) {
		t.Errorf("request for audience vault: %v %v", response, err)
	}

	const invalidated = "service account token has been invalidated"
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	must(t)(nil, core.Pods(namespace).Delete(t.Context(), "p", now))
	must(t)(nil, core.Secrets(namespace).Delete(t.Context(), "s", now))
	must(t)(nil, core.Nodes().Delete(t.Context(), "n1", now))
	for _, bearer := range []string{podBound, secretBound, nodeBound} {
		if got := authenticate(f.tokens, bearer); got != invalidated {
			t.Errorf("bound object deleted: %s", got)
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	must(t)(core.Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}))
	if got := authenticate(f.tokens, secretBound); got != invalidated {
		t.Errorf("bound secret deleted and created again: %s", got)
	}
	must(t)(nil, core.ServiceAccounts(namespace).Delete(t.Context(), "robot", now))
	if got := authenticate(f.tokens, good); got != invalidated {
		t.Errorf("account deleted: %s", got)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	must(t)(core.ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}))
	if got := authenticate(f.tokens, good); got != invalidated {
		t.Errorf("account deleted and created again: %s", got)
	}
}

func claimsOf(t *testing.T, bearer string) jwt.MapClaims {
	t.Helper()
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(bearer, claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

func unsigned(t *testing.T, bearer string) string {
	t.Helper()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodNone, claimsOf(t, bearer)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// symmetric signs the claims of a token as HS256, with the published keys as the
// secret. A verifier that accepts HS256 would accept the token.
func symmetric(t *testing.T, bearer string, f *fixture) string {
	t.Helper()
	handler, err := f.issuer.Keys()
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", token.KeysPath, nil))
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claimsOf(t, bearer)).SignedString(recorder.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func changed(bearer string) string {
	parts := strings.Split(bearer, ".")
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	payload = []byte(strings.Replace(string(payload), "robot", "admin", 1))
	return parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + parts[2]
}

// FuzzAuthenticate checks that no input other than the signed token is accepted.
// Objects is empty, so that a lookup before the signature is verified would panic.
func FuzzAuthenticate(f *testing.F) {
	issuer, bearer, _ := issueWithoutServer(f)
	f.Add(bearer[:len(bearer)-1])
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIn0.")
	tokens := token.NewAuthenticator(issuer, token.Objects{}, api)
	f.Fuzz(func(t *testing.T, noise string) {
		if noise == bearer {
			t.Skip()
		}
		if _, ok, _ := tokens.AuthenticateToken(t.Context(), noise); ok {
			t.Errorf("accepted")
		}
	})
}
