package token_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	corelisters "k8s.io/client-go/listers/core/v1"

	"holdfast.dev/holdfast/internal/access/token"
)

func TestRequests(t *testing.T) {
	f := newFixture(t)
	const invalid = `TokenRequest.authentication.k8s.io "robot" is invalid: spec.expirationSeconds: Invalid value: `
	boundTo := func(kind, name, uid string) string {
		return fmt.Sprintf("{boundObjectRef: {apiVersion: v1, kind: %s, name: %s, uid: %q}}", kind, name, uid)
	}
	tests := map[string]struct {
		account, spec, want string
	}{
		"not bound":       {account: "robot", spec: `{}`},
		"missing account": {account: "missing", spec: `{}`, want: `serviceaccounts "missing" not found`},
		"life too short": {
			account: "robot", spec: `{expirationSeconds: 599}`,
			want: invalid + `599: may not specify a duration less than 10 minutes`,
		},
		"life too long": {
			account: "robot", spec: `{expirationSeconds: 4294967297}`,
			want: invalid + `4294967297: may not specify a duration larger than 2^32 seconds`,
		},
		"bound to a pod":          {account: "robot", spec: boundTo("Pod", "p", "")},
		"bound to a pod with UID": {account: "robot", spec: boundTo("Pod", "p", f.uid(t, "pod"))},
		"bound to a pod of another account": {
			account: "other", spec: boundTo("Pod", "p", ""),
			want: `cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.`,
		},
		"bound to a pod with another UID": {
			account: "robot", spec: boundTo("Pod", "p", "old"),
			want: `Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (old) ` +
				`does not match the UID in record. The object might have been deleted and then recreated`,
		},
		"bound to a missing pod": {account: "robot", spec: boundTo("Pod", "q", ""), want: `pods "q" not found`},
		"bound to a secret":      {account: "robot", spec: boundTo("Secret", "s", "")},
		"bound to a node":        {account: "robot", spec: boundTo("Node", "n1", "")},
		"bound to a ConfigMap": {
			account: "robot", spec: boundTo("ConfigMap", "s", ""),
			want: `cannot bind token to object of type /v1, Kind=ConfigMap`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			created, err := f.request(t, test.account, test.spec)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if err == nil && created.Status.Token == "" {
				t.Error("no token")
			}
		})
	}
}

func TestAuthenticate(t *testing.T) {
	f := newFixture(t)
	robot := user.DefaultInfo{
		Name: "system:serviceaccount:tokens:robot", UID: f.uid(t, "robot"),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:tokens"},
	}
	withExtra := func(values map[string][]string) *user.DefaultInfo {
		u := robot
		u.Extra = values
		return &u
	}
	tests := map[string]struct {
		spec string
		want *user.DefaultInfo
	}{
		"not bound": {spec: `{}`, want: withExtra(map[string][]string{})},
		"bound to a pod": {spec: `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p}}`, want: withExtra(map[string][]string{
			"authentication.kubernetes.io/pod-name": {"p"}, "authentication.kubernetes.io/pod-uid": {f.uid(t, "pod")},
			"authentication.kubernetes.io/node-name": {"n1"}, "authentication.kubernetes.io/node-uid": {f.uid(t, "node")},
		})},
		"bound to a secret": {spec: `{boundObjectRef: {apiVersion: v1, kind: Secret, name: s}}`, want: withExtra(map[string][]string{})},
		"bound to a node": {spec: `{boundObjectRef: {apiVersion: v1, kind: Node, name: n1}}`, want: withExtra(map[string][]string{
			"authentication.kubernetes.io/node-name": {"n1"}, "authentication.kubernetes.io/node-uid": {f.uid(t, "node")},
		})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			issued := f.issue(t, test.spec)
			// The second time, the verified claims come from the cache.
			for range 2 {
				response, ok, err := f.tokens.AuthenticateToken(t.Context(), issued)
				if err != nil || !ok {
					t.Fatalf("refused: %v", err)
				}
				got := response.User.(*user.DefaultInfo)
				if !strings.HasPrefix(got.Extra[user.CredentialIDKey][0], "JTI=") {
					t.Errorf("credential %v", got.Extra)
				}
				delete(got.Extra, user.CredentialIDKey)
				if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("user (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestReadsListersFirst checks that no request goes to the server for objects that
// the listers have. There is no client, so such a request would panic.
func TestReadsListersFirst(t *testing.T) {
	issuer, bearer, objects := issueWithoutServer(t)
	pods := emptyIndexer()
	deleted := metav1.NewTime(time.Now().Add(-2 * time.Minute))
	must(t)(nil, pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: namespace, UID: "pod"}}))
	objects.Pods = corelisters.NewPodLister(pods)
	tokens := token.NewAuthenticator(issuer, objects, api)
	if _, ok, err := tokens.AuthenticateToken(t.Context(), bearer); !ok {
		t.Errorf("refused: %v", err)
	}
	must(t)(nil, pods.Update(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: namespace, UID: "pod", DeletionTimestamp: &deleted},
	}))
	if _, ok, _ := tokens.AuthenticateToken(t.Context(), bearer); ok {
		t.Error("accepted two minutes after the deletion of the pod")
	}
}

// issueWithoutServer returns an issuer, a token that is bound to a pod, and listers
// with the pod and the service account of the token.
func issueWithoutServer(t testing.TB) (*token.Issuer, string, token.Objects) {
	t.Helper()
	issuer, err := token.NewIssuer(issuerName, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	accounts, pods := emptyIndexer(), emptyIndexer()
	must(t)(nil, accounts.Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: namespace, UID: "sa"}}))
	must(t)(nil, pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: namespace, UID: "pod"}}))
	issued, err := issuer.Issue(token.Holder{
		Namespace: namespace, ServiceAccount: token.Ref{Name: "robot", UID: "sa"}, Pod: &token.Ref{Name: "p", UID: "pod"},
	}, api, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return issuer, issued.Token, token.Objects{
		ServiceAccounts: corelisters.NewServiceAccountLister(accounts), Pods: corelisters.NewPodLister(pods),
	}
}

// TestPublishedKeysVerifyTokens verifies a token with only the published keys.
func TestPublishedKeysVerifyTokens(t *testing.T) {
	issuer, bearer, _ := issueWithoutServer(t)
	handler, err := issuer.Keys()
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", token.KeysPath, nil))
	var set struct {
		Keys []struct{ Kid, Kty, Crv, Alg, X, Y string }
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%v: %s", err, recorder.Body)
	}
	header, err := base64.RawURLEncoding.DecodeString(strings.Split(bearer, ".")[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"alg":"ES256","kid":"` + set.Keys[0].Kid + `"}`; string(header) != want {
		t.Errorf("header %s, want %s", header, want)
	}
	x, _ := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	y, _ := base64.RawURLEncoding.DecodeString(set.Keys[0].Y)
	if len(x) != 32 || len(y) != 32 {
		t.Fatalf("coordinates of %d and %d bytes", len(x), len(y))
	}
	// The DER prefix of a P-256 public key, which the standard library can parse.
	prefix, _ := base64.StdEncoding.DecodeString("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE")
	public, err := x509.ParsePKIXPublicKey(append(append(prefix, x...), y...))
	if err != nil {
		t.Fatal(err)
	}
	keyFunc := func(*jwt.Token) (any, error) { return public, nil }
	if _, err := jwt.Parse(bearer, keyFunc, jwt.WithIssuer(issuerName), jwt.WithAudience("api")); err != nil {
		t.Error(err)
	}
}

func TestStatic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	must(t)(nil, os.WriteFile(path, []byte("s3cr3t,ann,u1,\"dev,ops\"\n"), 0o600))
	tokens, err := token.NewStatic(path, api)
	if err != nil {
		t.Fatal(err)
	}
	response, ok, err := tokens.AuthenticateToken(authenticator.WithAudiences(t.Context(), api), "s3cr3t")
	if !ok || err != nil || response.User.GetName() != "ann" || !cmp.Equal(response.User.GetGroups(), []string{"dev", "ops"}) {
		t.Errorf("%v %v %v", response, ok, err)
	}
	if _, ok, _ := tokens.AuthenticateToken(t.Context(), "other"); ok {
		t.Error("unknown token: accepted")
	}
	forVault := authenticator.WithAudiences(t.Context(), authenticator.Audiences{"vault"})
	if _, ok, _ := tokens.AuthenticateToken(forVault, "s3cr3t"); ok {
		t.Error("other audience: accepted")
	}
	if _, err := token.NewStatic(path+".none", api); err == nil {
		t.Error("missing file: no error")
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	issuer, bearer, objects := issueWithoutServer(b)
	tokens := token.NewAuthenticator(issuer, objects, api)
	for b.Loop() {
		if _, ok, err := tokens.AuthenticateToken(b.Context(), bearer); !ok {
			b.Fatal(err)
		}
	}
}
