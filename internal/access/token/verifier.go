package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"

	"github.com/golang-jwt/jwt/v5"
)

// algorithms are the signature algorithms of tokens, which are those of Kubernetes.
var algorithms = []string{"RS256", "ES256", "ES384", "ES512"}

// verifier is a public key that verifies tokens.
type verifier struct {
	public crypto.PublicKey
	// id is the hash of the encoded key, as in Kubernetes.
	id string
	// method is the only algorithm that the key is used with.
	method jwt.SigningMethod
}

func newVerifier(public crypto.PublicKey) (verifier, error) {
	method, err := methodOf(public)
	if err != nil {
		return verifier{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return verifier{}, fmt.Errorf("encode key of service-account tokens: %w", err)
	}
	sum := sha256.Sum256(der)
	return verifier{public: public, id: base64.RawURLEncoding.EncodeToString(sum[:]), method: method}, nil
}

// methodOf returns the algorithm of a key, as Kubernetes chooses it.
func methodOf(public crypto.PublicKey) (jwt.SigningMethod, error) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return jwt.SigningMethodRS256, nil
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return jwt.SigningMethodES256, nil
		case elliptic.P384():
			return jwt.SigningMethodES384, nil
		case elliptic.P521():
			return jwt.SigningMethodES512, nil
		}
	}
	return nil, errors.New("key of service-account tokens: neither an RSA nor an ECDSA key with the curve P-256, P-384 or P-521")
}

// jsonWebKey is a public key in the form of RFC 7517.
type jsonWebKey struct {
	Use       string `json:"use"`
	KeyType   string `json:"kty"`
	KeyID     string `json:"kid"`
	Curve     string `json:"crv,omitempty"`
	Algorithm string `json:"alg"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
	Modulus   string `json:"n,omitempty"`
	Exponent  string `json:"e,omitempty"`
}

func (v verifier) encode() (jsonWebKey, error) {
	key := jsonWebKey{Use: "sig", KeyID: v.id, Algorithm: v.method.Alg()}
	if public, ok := v.public.(*rsa.PublicKey); ok {
		key.KeyType = "RSA"
		key.Modulus = base64.RawURLEncoding.EncodeToString(public.N.Bytes())
		key.Exponent = base64.RawURLEncoding.EncodeToString(big.NewInt(int64(public.E)).Bytes())
		return key, nil
	}
	public, ok := v.public.(*ecdsa.PublicKey)
	if !ok {
		return jsonWebKey{}, fmt.Errorf("encode key of service-account tokens: unexpected %T", v.public)
	}
	// The uncompressed form: one byte, then both coordinates at full length.
	point, err := public.Bytes()
	if err != nil {
		return jsonWebKey{}, fmt.Errorf("encode key of service-account tokens: %w", err)
	}
	half := 1 + (len(point)-1)/2
	key.KeyType, key.Curve = "EC", public.Curve.Params().Name
	key.X = base64.RawURLEncoding.EncodeToString(point[1:half])
	key.Y = base64.RawURLEncoding.EncodeToString(point[half:])
	return key, nil
}
