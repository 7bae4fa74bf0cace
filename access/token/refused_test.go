package token_test

import (
	"context"
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

	"holdfast.dev/holdfast/access/token"
)

func TestRefused(t *testing.T) {
	f := newFixture(t)
	core := f.client.CoreV1()
	good := f.issue(t, `{}`)
	podBound := f.issue(t, `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p}}`)
	secretBound := f.issue(t, `{boundObjectRef: {apiVersion: v1, kind: Secret, name: s}}`)
	nodeBound := f.issue(t, `{boundObjectRef: {apiVersion: v1, kind: Node, name: n1}}`)
	other := f.issue(t, `{audiences: [vault]}`)
	answers := func(tokens *token.Authenticator, bearer string) string {
		_, ok, err := tokens.AuthenticateToken(t.Context(), bearer)
		switch {
		case ok:
			return "accepted"
		case err == nil:
			return "not ours"
		case strings.Contains(err.Error(), bearer[len(bearer)/2:]):
			t.Error("the token is in the error")
		}
		return err.Error()
	}
	at := func(d time.Duration) *token.Authenticator {
		return token.NewAuthenticator(f.issuer.WithClock(func() time.Time { return time.Now().Add(d) }), f.objects, api)
	}
	stranger, err := token.NewIssuer(issuerName, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := stranger.Issue(token.Holder{Namespace: namespace, ServiceAccount: token.Ref{Name: "robot", UID: "x"}}, api, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		tokens       *token.Authenticator
		bearer, want string
	}{
		"good":                  {f.tokens, good, "accepted"},
		"to the last second":    {at(59 * time.Minute), good, "accepted"},
		"expired":               {at(61 * time.Minute), good, "service account token has expired"},
		"from the future":       {at(-time.Minute), good, "service account token is not valid yet"},
		"clocks apart":          {at(-5 * time.Second), good, "accepted"},
		"another audience":      {f.tokens, other, `token audiences ["vault"] is invalid for the target audiences ["api"]`},
		"another key":           {f.tokens, forged.Token, "invalid bearer token: signature"},
		"no signature":          {f.tokens, unsigned(t, good), "invalid bearer token: signature"},
		"public key as secret":  {f.tokens, symmetric(t, good, f), "invalid bearer token: signature"},
		"changed claims":        {f.tokens, changed(good), "invalid bearer token: signature"},
		"no token at all":       {f.tokens, "opaque-bearer-value", "not ours"},
		"three parts of noise":  {f.tokens, "a.b.c", "not ours"},
		"another issuer's":      {token.NewAuthenticator(must2(token.NewIssuer("https://other", newKey(t)))(t), f.objects, api), good, "not ours"},
		"bound to a pod":        {f.tokens, podBound, "accepted"},
		"bound to a secret":     {f.tokens, secretBound, "accepted"},
		"audience not asked of": {f.tokens, good, "accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answers(test.tokens, test.bearer); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}

	asked := authenticator.WithAudiences(t.Context(), authenticator.Audiences{"vault"})
	if response, ok, err := f.tokens.AuthenticateToken(asked, other); !ok || !cmp.Equal(response.Audiences, authenticator.Audiences{"vault"}) {
		t.Errorf("audience that was asked for: %v %v", response, err)
	}

	const gone = "service account token has been invalidated"
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	must(t)(nil, core.Pods(namespace).Delete(t.Context(), "p", now))
	must(t)(nil, core.Secrets(namespace).Delete(t.Context(), "s", now))
	must(t)(nil, core.Nodes().Delete(t.Context(), "n1", now))
	for _, bearer := range []string{podBound, secretBound, nodeBound} {
		if got := answers(f.tokens, bearer); got != gone {
			t.Errorf("what the token is bound to is deleted: %s", got)
		}
	}
	must(t)(core.Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}))
	if got := answers(f.tokens, secretBound); got != gone {
		t.Errorf("a secret of the same name: %s", got)
	}
	must(t)(nil, core.ServiceAccounts(namespace).Delete(t.Context(), "robot", now))
	if got := answers(f.tokens, good); got != gone {
		t.Errorf("account deleted: %s", got)
	}
	must(t)(core.ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{}))
	if got := answers(f.tokens, good); got != gone {
		t.Errorf("an account of the same name: %s", got)
	}
}

func must2(issuer *token.Issuer, err error) func(*testing.T) *token.Issuer {
	return func(t *testing.T) *token.Issuer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return issuer
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

// symmetric is the attack of taking the public key for the secret of an HMAC.
func symmetric(t *testing.T, bearer string, f *fixture) string {
	t.Helper()
	handler, err := f.issuer.Keys()
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), "GET", token.KeysPath, nil))
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claimsOf(t, bearer)).SignedString(answer.Body.Bytes())
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

// FuzzAuthenticate: nothing that is not signed gets in, and nothing makes it
// look an object up.
func FuzzAuthenticate(f *testing.F) {
	issuer, bearer, _ := offline(f)
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
