package token

import (
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// Paths of the OpenID discovery documents, with which other services can verify
// tokens of the issuer.
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeysPath          = "/openid/v1/jwks"
)

// jsonWebKey is a public key in the form of RFC 7517.
type jsonWebKey struct {
	Use       string `json:"use"`
	KeyType   string `json:"kty"`
	KeyID     string `json:"kid"`
	Curve     string `json:"crv"`
	Algorithm string `json:"alg"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// Configuration returns a handler for the issuer's OpenID configuration. keysURL is
// the full URL of KeysPath.
func (i *Issuer) Configuration(keysURL string) (http.Handler, error) {
	return document("application/json", map[string]any{
		"issuer":                                i.name,
		"jwks_uri":                              keysURL,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"},
	})
}

// Keys returns a handler for the public keys that verify tokens, as a JSON Web Key
// Set.
func (i *Issuer) Keys() (http.Handler, error) {
	set := make([]jsonWebKey, 0, len(i.publicKeys))
	for _, id := range slices.Sorted(maps.Keys(i.publicKeys)) {
		key, err := encodeKey(id, i.publicKeys[id])
		if err != nil {
			return nil, err
		}
		set = append(set, key)
	}
	return document("application/jwk-set+json", map[string]any{"keys": set})
}

func encodeKey(id string, public *ecdsa.PublicKey) (jsonWebKey, error) {
	// The uncompressed form: one byte, then both coordinates at full length.
	point, err := public.Bytes()
	if err != nil {
		return jsonWebKey{}, fmt.Errorf("encode key of service-account tokens: %w", err)
	}
	half := 1 + (len(point)-1)/2
	return jsonWebKey{
		Use: "sig", KeyType: "EC", KeyID: id, Curve: "P-256", Algorithm: "ES256",
		X: base64.RawURLEncoding.EncodeToString(point[1:half]),
		Y: base64.RawURLEncoding.EncodeToString(point[half:]),
	}, nil
}

// document returns a handler that always sends the same JSON content.
func document(contentType string, content any) (http.Handler, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = w.Write(data)
	}), nil
}
