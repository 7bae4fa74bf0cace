package token_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
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

	"holdfast.dev/holdfast/access/token"
)

func TestRequests(t *testing.T) {
	f := newFixture(t)
	tests := map[string]struct {
		account, spec, want string
	}{
		"plain":                  {account: "robot", spec: `{}`},
		"no such account":        {account: "nobody", spec: `{}`, want: `serviceaccounts "nobody" not found`},
		"too short":              {account: "robot", spec: `{expirationSeconds: 599}`, want: `TokenRequest.authentication.k8s.io "robot" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`},
		"too long":               {account: "robot", spec: `{expirationSeconds: 4294967297}`, want: `TokenRequest.authentication.k8s.io "robot" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds`},
		"bound to a pod":         {account: "robot", spec: `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p}}`},
		"bound to a pod, by UID": {account: "robot", spec: `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p, uid: ` + f.uid(t, "pod") + `}}`},
		"bound to another's pod": {account: "other", spec: `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p}}`, want: `cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.`},
		"bound to a pod before":  {account: "robot", spec: `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p, uid: old}}`, want: `Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated`},
		"bound to no pod":        {account: "robot", spec: `{boundObjectRef: {apiVersion: v1, kind: Pod, name: q}}`, want: `pods "q" not found`},
		"bound to a secret":      {account: "robot", spec: `{boundObjectRef: {apiVersion: v1, kind: Secret, name: s}}`},
		"bound to a node":        {account: "robot", spec: `{boundObjectRef: {apiVersion: v1, kind: Node, name: n1}}`},
		"bound to a map":         {account: "robot", spec: `{boundObjectRef: {apiVersion: v1, kind: ConfigMap, name: s}}`, want: `cannot bind token to object of type /v1, Kind=ConfigMap`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer, err := f.ask(t, test.account, test.spec)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if err == nil && answer.Status.Token == "" {
				t.Error("no token")
			}
		})
	}
}

func TestAuthenticate(t *testing.T) {
	f := newFixture(t)
	plain := user.DefaultInfo{
		Name: "system:serviceaccount:tokens:robot", UID: f.uid(t, "robot"),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:tokens"},
	}
	extra := func(values map[string][]string) *user.DefaultInfo {
		u := plain
		u.Extra = values
		return &u
	}
	tests := map[string]struct {
		spec string
		want *user.DefaultInfo
	}{
		"plain": {spec: `{}`, want: extra(map[string][]string{})},
		"pod": {spec: `{boundObjectRef: {apiVersion: v1, kind: Pod, name: p}}`, want: extra(map[string][]string{
			"authentication.kubernetes.io/pod-name": {"p"}, "authentication.kubernetes.io/pod-uid": {f.uid(t, "pod")},
			"authentication.kubernetes.io/node-name": {"n1"}, "authentication.kubernetes.io/node-uid": {f.uid(t, "node")},
		})},
		"secret": {spec: `{boundObjectRef: {apiVersion: v1, kind: Secret, name: s}}`, want: extra(map[string][]string{})},
		"node": {spec: `{boundObjectRef: {apiVersion: v1, kind: Node, name: n1}}`, want: extra(map[string][]string{
			"authentication.kubernetes.io/node-name": {"n1"}, "authentication.kubernetes.io/node-uid": {f.uid(t, "node")},
		})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// Twice: the second time the signature is remembered.
			for range 2 {
				response, ok, err := f.tokens.AuthenticateToken(t.Context(), f.issue(t, test.spec))
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

// TestInformerFirst holds that a request asks the server for nothing that the
// informers have: without a client it would panic.
func TestInformerFirst(t *testing.T) {
	issuer, bearer, objects := offline(t)
	pods := emptyIndexer()
	deleted := metav1.NewTime(time.Now().Add(-2 * time.Minute))
	must(t)(nil, pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: namespace, UID: "pod"}}))
	objects.Pods = corelisters.NewPodLister(pods)
	tokens := token.NewAuthenticator(issuer, objects, api)
	if _, ok, err := tokens.AuthenticateToken(t.Context(), bearer); !ok {
		t.Errorf("refused: %v", err)
	}
	must(t)(nil, pods.Update(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: namespace, UID: "pod", DeletionTimestamp: &deleted}}))
	if _, ok, _ := tokens.AuthenticateToken(t.Context(), bearer); ok {
		t.Error("accepted two minutes after the pod's end")
	}
}

func offline(t testing.TB) (*token.Issuer, string, token.Objects) {
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
	return issuer, issued.Token, token.Objects{ServiceAccounts: corelisters.NewServiceAccountLister(accounts), Pods: corelisters.NewPodLister(pods)}
}

// TestDocumentsProveTokens checks a token with nothing but what is published.
func TestDocumentsProveTokens(t *testing.T) {
	issuer, bearer, _ := offline(t)
	handler, err := issuer.Keys()
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", token.KeysPath, nil))
	var set struct {
		Keys []struct{ Kid, Kty, Crv, Alg, X, Y string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%v: %s", err, answer.Body)
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
	// The point in the encoding that the standard library reads.
	prefix, _ := base64.StdEncoding.DecodeString("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE")
	public, err := x509.ParsePKIXPublicKey(append(append(prefix, x...), y...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jwt.Parse(bearer, func(*jwt.Token) (any, error) { return public, nil }, jwt.WithIssuer(issuerName), jwt.WithAudience("api")); err != nil {
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
		t.Error("another token: accepted")
	}
	if _, ok, _ := tokens.AuthenticateToken(authenticator.WithAudiences(t.Context(), authenticator.Audiences{"vault"}), "s3cr3t"); ok {
		t.Error("another audience: accepted")
	}
	if _, err := token.NewStatic(path+".none", api); err == nil {
		t.Error("no file: no error")
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	issuer, bearer, objects := offline(b)
	tokens := token.NewAuthenticator(issuer, objects, api)
	for b.Loop() {
		if _, ok, err := tokens.AuthenticateToken(b.Context(), bearer); !ok {
			b.Fatal(err)
		}
	}
}
