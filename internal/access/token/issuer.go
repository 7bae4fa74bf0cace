package token

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/utils/lru"
)

// verifiedTokens is how many verified tokens are cached.
const verifiedTokens = 4096

// Issuer signs tokens and verifies their signatures. It is safe for concurrent use.
type Issuer struct {
	// names are the accepted issuers. New tokens have the first one.
	names []string
	key   crypto.Signer
	keyID string
	// publicKeys are the keys that verify tokens, by key ID.
	publicKeys map[string]verifier
	parser     *jwt.Parser
	now        func() time.Time
	// verified caches the claims of tokens with a valid signature, by the hash of
	// the token.
	verified *lru.Cache
}

// NewIssuer returns an issuer that signs with key, an RSA or ECDSA key. The name is the URL
// in the claim "iss" of every token. The issuer accepts tokens that were signed with this
// key or that one of the other keys verifies.
func NewIssuer(name string, key crypto.Signer, others ...crypto.PublicKey) (*Issuer, error) {
	i := &Issuer{
		names: []string{name}, key: key, now: time.Now,
		publicKeys: map[string]verifier{},
		verified:   lru.New(verifiedTokens),
		// The parser does not check times, because its result is cached. The
		// Authenticator checks them for every request.
		parser: jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding()),
	}
	for n, public := range append([]crypto.PublicKey{key.Public()}, others...) {
		v, err := newVerifier(public)
		if err != nil {
			return nil, err
		}
		i.publicKeys[v.id] = v
		if n == 0 {
			i.keyID = v.id
		}
	}
	return i, nil
}

// Accepting returns a copy of the issuer that also accepts tokens with other names of the
// issuer, such as tokens from before the issuer was renamed.
func (i *Issuer) Accepting(names ...string) *Issuer {
	other := *i
	other.names = slices.Concat(i.names, names)
	return &other
}

// WithClock returns a copy of the issuer that takes the time from now.
func (i *Issuer) WithClock(now func() time.Time) *Issuer {
	other := *i
	other.now = now
	return &other
}

// Issued is a signed token with its ID and expiry.
type Issued struct {
	Token string
	// ID identifies the token in audit logs, where the token must not appear.
	ID      string
	Expires time.Time
}

// Issue signs a token for the holder that expires after life.
func (i *Issuer) Issue(holder Holder, audiences []string, life time.Duration) (Issued, error) {
	now := i.now()
	id := uuid.NewString()
	content := claims{
		Holder: holder,
		RegisteredClaims: jwt.RegisteredClaims{
			ID:        id,
			Issuer:    i.names[0],
			Subject:   serviceaccount.MakeUsername(holder.Namespace, holder.ServiceAccount.Name),
			Audience:  audiences,
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(life)),
		},
	}
	unsigned := jwt.NewWithClaims(i.publicKeys[i.keyID].method, content)
	unsigned.Header["kid"] = i.keyID
	// Tokens of Kubernetes do not have the header "typ".
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

// verify checks the signature of a token and returns its claims. It returns nil
// without an error if the token has another issuer or is not a JWT. It does not
// check whether the token has expired.
func (i *Issuer) verify(token string) (*claims, error) {
	hash := sha256.Sum256([]byte(token))
	if cached, ok := i.verified.Get(hash); ok {
		return cached.(*claims), nil
	}
	if !i.issued(token) {
		return nil, nil
	}
	content := &claims{}
	_, err := i.parser.ParseWithClaims(token, content, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		if key, ok := i.publicKeys[id]; ok && key.method == t.Method {
			return key.public, nil
		}
		return nil, errSignature
	})
	// The error of the library is dropped, because it may contain the token.
	if err != nil {
		return nil, errSignature
	}
	holder := content.Holder
	if !slices.Contains(i.names, content.Issuer) || content.ExpiresAt == nil || holder.ServiceAccount.UID == "" ||
		content.Subject != serviceaccount.MakeUsername(holder.Namespace, holder.ServiceAccount.Name) {
		return nil, errClaims
	}
	i.verified.Add(hash, content)
	return content, nil
}

// issued reports whether the token names this issuer. It does not check the
// signature.
func (i *Issuer) issued(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	return json.Unmarshal(payload, &claims) == nil && slices.Contains(i.names, claims.Issuer)
}
