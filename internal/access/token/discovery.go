package token

import (
	"encoding/json"
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

// Configuration returns a handler for the issuer's OpenID configuration. keysURL is
// the full URL of KeysPath.
func (i *Issuer) Configuration(keysURL string) (http.Handler, error) {
	var used []string
	for _, key := range i.publicKeys {
		used = append(used, key.method.Alg())
	}
	slices.Sort(used)
	return document("application/json", map[string]any{
		"issuer":                                i.names[0],
		"jwks_uri":                              keysURL,
		"response_types_supported":              []string{"id_token"},
		"subject_types_supported":               []string{"public"},
		"id_token_signing_alg_values_supported": slices.Compact(used),
	})
}

// Keys returns a handler for the public keys that verify tokens, as a JSON Web Key
// Set.
func (i *Issuer) Keys() (http.Handler, error) {
	set := make([]jsonWebKey, 0, len(i.publicKeys))
	for _, id := range slices.Sorted(maps.Keys(i.publicKeys)) {
		key, err := i.publicKeys[id].encode()
		if err != nil {
			return nil, err
		}
		set = append(set, key)
	}
	return document("application/jwk-set+json", map[string]any{"keys": set})
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
