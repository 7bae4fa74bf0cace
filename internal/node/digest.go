package node

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"holdfast.dev/holdfast/internal/projection"
)

// digester computes digests of content. The digest of a Secret or a token is an HMAC
// with a key of the node: a reader of a plain hash could test guesses of the
// password against it.
type digester struct {
	key []byte
}

func (d digester) sum(payload projection.Payload, secret secrecy) string {
	if secret {
		h := hmac.New(sha256.New, d.key)
		payload.Hash(h)
		return "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	h := sha256.New()
	payload.Hash(h)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func (d digester) object(o *Object) string {
	return d.sum(o.payload(), o.Kind == projection.Secret)
}

// secrecy is true for content that comes from Secrets or tokens.
type secrecy bool
