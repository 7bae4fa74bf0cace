package node

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"holdfast.dev/holdfast/projection"
)

// digester makes digests of content. Of Secrets and tokens it makes HMACs with a
// key of the node: a plain hash would tell who guesses a password that the guess
// is right.
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

// secrecy says that content is that of Secrets or tokens.
type secrecy bool
