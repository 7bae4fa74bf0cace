package revocation

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/internal/access/node"
)

// Credential is what a client authenticated with.
type Credential struct {
	// User is the name of the user.
	User string
	// Node is the name of a node: the user itself if it is a node, or else the node that the
	// token or its pod is bound to. It is empty if there is none.
	Node string
	// ID is the ID of the credential in audit logs; empty if it has none.
	ID string
	// Serial is the serial number of a client certificate, in hexadecimal; empty for a token.
	Serial string
	// Issued is when the credential was issued; zero if that is not known.
	Issued time.Time
}

// OfCertificate returns the credential of a user that a client certificate authenticates.
func OfCertificate(u user.Info, cert *x509.Certificate) Credential {
	c := of(u)
	hash := sha256.Sum256(cert.Raw)
	c.ID, c.Serial, c.Issued = "X509SHA256="+hex.EncodeToString(hash[:]), cert.SerialNumber.Text(16), cert.NotBefore
	return c
}

// OfToken returns the credential of a user that a bearer token authenticates. The token must
// be verified.
func OfToken(u user.Info, token string) Credential {
	c := of(u)
	c.Issued = issuedAt(token)
	return c
}

func of(u user.Info) Credential {
	c := Credential{User: u.GetName(), Node: nodeOf(u.GetName())}
	if ids := u.GetExtra()[user.CredentialIDKey]; len(ids) > 0 {
		c.ID = ids[0]
	}
	if nodes := u.GetExtra()[serviceaccount.NodeNameKey]; len(nodes) > 0 {
		c.Node = nodes[0]
	}
	return c
}

// nodeOf returns the name of the node that a user is, or "".
func nodeOf(name string) string {
	name, ok := strings.CutPrefix(name, node.UserPrefix)
	if !ok {
		return ""
	}
	return name
}

// issuedAt returns the time in the claim "iat" of a JWT. For any other token it returns zero.
func issuedAt(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		IssuedAt float64 `json:"iat"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.IssuedAt <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.IssuedAt), 0)
}
