package openid_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// provider is an OpenID Connect provider that publishes its keys over HTTPS and signs
// tokens.
type provider struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

const keyID = "first"

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key}
	mux := http.NewServeMux()
	serve := func(path string, content func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(content()); err != nil {
				t.Error(err)
			}
		})
	}
	serve("/.well-known/openid-configuration", func() any {
		return map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}}
	})
	serve("/keys", func() any {
		return map[string]any{"keys": []any{map[string]any{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": keyID,
			"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
		}}}
	})
	p.Server = httptest.NewTLSServer(mux)
	t.Cleanup(p.Close)
	return p
}

// ca returns the certificate that verifies the provider's serving certificate.
func (p *provider) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
}

// token returns a token for jane. The claims in overrides replace the default ones;
// a nil value removes the claim.
func (p *provider) token(t *testing.T, overrides jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{
		"iss": p.URL, "aud": "holdfast", "sub": "42", "email": "jane@example.com", "email_verified": true,
		"groups": []string{"dev", "ops"}, "tenant": "blue",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	for name, value := range overrides {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	unsigned.Header["kid"] = keyID
	signed, err := unsigned.SignedString(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}
