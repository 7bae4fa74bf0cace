package matrix_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access/token"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

const (
	issuer         = "https://kubernetes.default.svc.cluster.local"
	selfReviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
)

// signingKey reads the key that signs service account tokens from a data directory.
func signingKey(t *testing.T, dir string) *ecdsa.PrivateKey {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "pki", "sa.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("the key is a %T", parsed)
	}
	return key
}

// TestTokens checks that a token is accepted until it expires, for its audience only, and
// only while its service account and bound object exist. Otherwise the status is 401.
func TestTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(file, []byte("sesame,ali,1,\"dev,ops\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSetup(t, apiserver.Config{DataDir: dir, TokenFile: file})
	client := s.root.client()
	status := func(bearerToken string) int {
		return newTokenUser(t, s.server, "bearer", bearerToken).send(t, http.MethodPost, selfReviewPath, "{}").status
	}
	bound := func(kind, name string) string {
		return tokenOf(t, client, "shop", "default", authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID(s.uids[name])},
		})
	}
	good := tokenOf(t, client, "shop", "robot", authenticationv1.TokenRequestSpec{})
	forVault := tokenOf(t, client, "shop", "robot", authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}})
	podBound, secretBound, nodeBound := bound("Pod", "mine"), bound("Secret", "password"), bound("Node", "n2")

	// twoHoursAgo returns a token that was signed two hours ago.
	holder := token.Holder{Namespace: "shop", ServiceAccount: token.Ref{Name: "robot", UID: types.UID(s.uids["robot"])}}
	twoHoursAgo := func(key *ecdsa.PrivateKey, life time.Duration) string {
		t.Helper()
		signer, err := token.NewIssuer(issuer, key)
		if err != nil {
			t.Fatal(err)
		}
		clock := func() time.Time { return time.Now().Add(-2 * time.Hour) }
		issued, err := signer.WithClock(clock).Issue(holder, []string{issuer}, life)
		if err != nil {
			t.Fatal(err)
		}
		return issued.Token
	}
	_, otherKey := newCSR(t, clientSigner, "any")
	for name, test := range map[string]struct {
		token string
		want  int
	}{
		"valid":                   {good, http.StatusCreated},
		"other audience":          {forVault, http.StatusUnauthorized},
		"bound to a pod":          {podBound, http.StatusCreated},
		"bound to a secret":       {secretBound, http.StatusCreated},
		"bound to a node":         {nodeBound, http.StatusCreated},
		"two hours old":           {twoHoursAgo(signingKey(t, dir), 3*time.Hour), http.StatusCreated},
		"expired":                 {twoHoursAgo(signingKey(t, dir), time.Hour), http.StatusUnauthorized},
		"signed with another key": {twoHoursAgo(otherKey, 3*time.Hour), http.StatusUnauthorized},
		"truncated":               {good[:len(good)-4], http.StatusUnauthorized},
		"in the token file":       {"sesame", http.StatusCreated},
		"not in the token file":   {"sesam", http.StatusUnauthorized},
		"two tokens in a row":     {good + good, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			if got := status(test.token); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}

	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	core := client.CoreV1()
	for name, test := range map[string]struct {
		token  string
		remove func() error
	}{
		"pod":    {podBound, func() error { return core.Pods("shop").Delete(t.Context(), "mine", now) }},
		"secret": {secretBound, func() error { return core.Secrets("shop").Delete(t.Context(), "password", now) }},
		"node":   {nodeBound, func() error { return core.Nodes().Delete(t.Context(), "n2", now) }},
	} {
		if err := test.remove(); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the token is rejected after the deletion of the "+name, func() bool {
			return status(test.token) == http.StatusUnauthorized
		})
	}
	if got := status(good); got != http.StatusCreated {
		t.Errorf("token that is not bound: %d", got)
	}
	if err := core.ServiceAccounts("shop").Delete(t.Context(), "robot", now); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the token is rejected after the deletion of its account", func() bool {
		return status(good) == http.StatusUnauthorized
	})
	s.root.must(t, http.MethodPost, expand("$/serviceaccounts"), toJSON(t, "metadata: {name: robot}"))
	newToken := tokenOf(t, client, "shop", "robot", authenticationv1.TokenRequestSpec{})
	waittest.Until(t, "the token of the new account is accepted", func() bool { return status(newToken) == http.StatusCreated })
	if got := status(good); got != http.StatusUnauthorized {
		t.Errorf("token of the deleted account of the same name: %d", got)
	}
}

// TestIssuerDiscovery verifies a token like another service does: it knows only the URL
// of the issuer and finds the keys with OpenID discovery.
func TestIssuerDiscovery(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Client(t)
	root := newUser(t, "root", server.Config(t))
	root.must(t, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", toJSON(t, "metadata: {name: robot}"))
	forVault := tokenOf(t, client, "default", "robot", authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}})

	// Only service accounts may read the documents, so the verifier is one, too. It
	// connects to the address of the server, whatever host the URL has.
	config := rest.AnonymousClientConfig(server.Config(t))
	config.BearerToken = tokenOf(t, client, "default", "robot", authenticationv1.TokenRequestSpec{})
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address.Host)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer httpClient.CloseIdleConnections()
	var document struct {
		Issuer  string `json:"issuer"`
		KeysURI string `json:"jwks_uri"`
	}
	fetch(t, httpClient, issuer+token.ConfigurationPath, &document)
	keys := fetchKeys(t, httpClient, document.KeysURI)
	verify := func(raw string) (*jwt.RegisteredClaims, error) {
		claims := &jwt.RegisteredClaims{}
		_, err := jwt.ParseWithClaims(raw, claims, func(parsed *jwt.Token) (any, error) {
			id, _ := parsed.Header["kid"].(string)
			if keys[id] == nil {
				return nil, fmt.Errorf("the server publishes no key %q", id)
			}
			return keys[id], nil
		}, jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuer(issuer), jwt.WithAudience("vault"), jwt.WithExpirationRequired())
		return claims, err
	}
	verified, err := verify(forVault)
	if err != nil {
		t.Fatal(err)
	}
	if verified.Subject != "system:serviceaccount:default:robot" || verified.Issuer != issuer {
		t.Errorf("verified %s of %s", verified.Subject, verified.Issuer)
	}
	if _, err := verify(forVault[:len(forVault)-4] + "AAAA"); err == nil {
		t.Error("a token with a changed signature is accepted")
	}
	if document.Issuer != issuer || document.KeysURI != server.URL()+token.KeysPath {
		t.Errorf("discovery document: %+v", document)
	}
}

// fetch reads the JSON document at address into out.
func fetch(t *testing.T, client *http.Client, address string, out any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
}

// fetchKeys reads the P-256 keys of the JSON Web Key Set (RFC 7517) at address,
// by their ID.
func fetchKeys(t *testing.T, client *http.Client, address string) map[string]*ecdsa.PublicKey {
	t.Helper()
	var set struct {
		Keys []struct {
			ID    string `json:"kid"`
			Type  string `json:"kty"`
			Curve string `json:"crv"`
			Use   string `json:"use"`
			X     string `json:"x"`
			Y     string `json:"y"`
		} `json:"keys"`
	}
	fetch(t, client, address, &set)
	keys := map[string]*ecdsa.PublicKey{}
	for _, k := range set.Keys {
		if k.Type != "EC" || k.Curve != "P-256" || k.Use != "sig" {
			t.Fatalf("unexpected key %+v", k)
		}
		// The uncompressed form of a point is the byte 4, then both coordinates.
		point := []byte{4}
		for _, coordinate := range []string{k.X, k.Y} {
			decoded, err := base64.RawURLEncoding.DecodeString(coordinate)
			if err != nil {
				t.Fatalf("key %s: %v", k.ID, err)
			}
			point = append(point, decoded...)
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		if err != nil {
			t.Fatalf("key %s: %v", k.ID, err)
		}
		keys[k.ID] = key
	}
	return keys
}
