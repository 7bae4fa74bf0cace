package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/utils/lru"
)

// rememberedTokens bounds how many checks of signatures are remembered.
const rememberedTokens = 4096

// Issuer signs tokens and knows them again.
type Issuer struct {
	name   string
	key    *ecdsa.PrivateKey
	keyID  string
	known  map[string]*ecdsa.PublicKey
	parser *jwt.Parser
	now    func() time.Time
	// proven holds the claims of tokens whose signature was checked, under the
	// hash of the token.
	proven *lru.Cache
}

// NewIssuer signs with key under a name, the URL that is in every token, and
// accepts tokens of retired keys too.
func NewIssuer(name string, key *ecdsa.PrivateKey, retired ...*ecdsa.PublicKey) (*Issuer, error) {
	i := &Issuer{
		name: name, key: key, now: time.Now,
		known:  map[string]*ecdsa.PublicKey{},
		proven: lru.New(rememberedTokens),
		// Time is judged for every request, not where a signature is checked.
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}), jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding()),
	}
	for _, public := range append([]*ecdsa.PublicKey{&key.PublicKey}, retired...) {
		if public.Curve != elliptic.P256() {
			return nil, errors.New("key of service-account tokens: not an ECDSA P-256 key")
		}
		id, err := keyID(public)
		if err != nil {
			return nil, err
		}
		i.known[id] = public
		if public == &key.PublicKey {
			i.keyID = id
		}
	}
	return i, nil
}

// WithClock returns a copy that takes the time from now.
func (i *Issuer) WithClock(now func() time.Time) *Issuer {
	other := *i
	other.now = now
	return &other
}

// keyID is the name of a key that Kubernetes gives it: the hash of its encoding.
func keyID(public *ecdsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("encode key of service-account tokens: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// Issued is a signed token and what is public about it.
type Issued struct {
	Token string
	// ID names the token in audit logs.
	ID      string
	Expires time.Time
}

// Issue signs a token for the holder.
func (i *Issuer) Issue(holder Holder, audiences []string, life time.Duration) (Issued, error) {
	now := i.now()
	id := uuid.NewString()
	content := claims{
		Holder: holder,
		RegisteredClaims: jwt.RegisteredClaims{
			ID:        id,
			Issuer:    i.name,
			Subject:   serviceaccount.MakeUsername(holder.Namespace, holder.ServiceAccount.Name),
			Audience:  audiences,
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(life)),
		},
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodES256, content)
	unsigned.Header["kid"] = i.keyID
	// Kubernetes' tokens have no typ.
	delete(unsigned.Header, "typ")
	signed, err := unsigned.SignedString(i.key)
	if err != nil {
		return Issued{}, fmt.Errorf("sign service-account token: %w", err)
	}
	return Issued{Token: signed, ID: id, Expires: content.ExpiresAt.Time}, nil
}

var (
	errSignature = errors.New("invalid bearer token: signature")
	errClaims    = errors.New("invalid bearer token: claims")
)

// claims returns what a token says if this issuer signed it; nil means that the
// token is somebody else's or none at all. Its time is not judged.
func (i *Issuer) claims(token string) (*claims, error) {
	hash := sha256.Sum256([]byte(token))
	if known, ok := i.proven.Get(hash); ok {
		return known.(*claims), nil
	}
	if !i.isOurs(token) {
		return nil, nil
	}
	content := &claims{}
	_, err := i.parser.ParseWithClaims(token, content, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		if key, ok := i.known[id]; ok {
			return key, nil
		}
		return nil, errSignature
	})
	// The library's error may quote the token.
	if err != nil {
		return nil, errSignature
	}
	holder := content.Holder
	if content.Issuer != i.name || content.ExpiresAt == nil || holder.ServiceAccount.UID == "" ||
		content.Subject != serviceaccount.MakeUsername(holder.Namespace, holder.ServiceAccount.Name) {
		return nil, errClaims
	}
	i.proven.Add(hash, content)
	return content, nil
}

// isOurs looks at the issuer that a token claims to be from.
func (i *Issuer) isOurs(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var said struct {
		Issuer string `json:"iss"`
	}
	return json.Unmarshal(payload, &said) == nil && said.Issuer == i.name
}
