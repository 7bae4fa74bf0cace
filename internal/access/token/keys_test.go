package token_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"holdfast.dev/holdfast/internal/access/token"
)

// TestKeys checks that tokens can be signed with each kind of key that Kubernetes knows, that an
// issuer with the public key accepts them, and that it accepts an old name of the issuer.
func TestKeys(t *testing.T) {
	t.Parallel()
	ec := func(curve elliptic.Curve) crypto.Signer {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		must(t)(nil, err)
		return key
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t)(nil, err)
	accounts := emptyIndexer()
	must(t)(nil, accounts.Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: namespace, UID: "sa"}}))
	objects := token.Objects{ServiceAccounts: corelisters.NewServiceAccountLister(accounts)}
	for algorithm, key := range map[string]crypto.Signer{
		"RS256": rsaKey, "ES256": ec(elliptic.P256()), "ES384": ec(elliptic.P384()), "ES512": ec(elliptic.P521()),
	} {
		old, err := token.NewIssuer("https://old.example", key)
		must(t)(nil, err)
		issued, err := old.Issue(token.Holder{Namespace: namespace, ServiceAccount: token.Ref{Name: "robot", UID: "sa"}}, api, time.Hour)
		must(t)(nil, err)
		header, _ := base64.RawURLEncoding.DecodeString(strings.Split(issued.Token, ".")[0])
		if !strings.Contains(string(header), `"alg":"`+algorithm+`"`) {
			t.Errorf("%s: header %s", algorithm, header)
		}
		issuer, err := token.NewIssuer(issuerName, newKey(t), key.Public())
		must(t)(nil, err)
		if _, ok, _ := token.NewAuthenticator(issuer, objects, api).AuthenticateToken(t.Context(), issued.Token); ok {
			t.Errorf("%s: accepted with another name of the issuer", algorithm)
		}
		accepting := issuer.Accepting("https://old.example")
		if _, ok, err := token.NewAuthenticator(accepting, objects, api).AuthenticateToken(t.Context(), issued.Token); !ok {
			t.Errorf("%s: not accepted: %v", algorithm, err)
		}
		if _, err := issuer.Keys(); err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
	_, unknown, err := ed25519.GenerateKey(rand.Reader)
	must(t)(nil, err)
	if _, err := token.NewIssuer(issuerName, unknown); err == nil {
		t.Error("an Ed25519 key is accepted")
	}
}
