package authorship

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// format is the first part of every sealed text.
const format = "v1"

// key seals and opens texts.
type key struct {
	// id names the key in the sealed text. It does not reveal the key.
	id   string
	aead cipher.AEAD
	// nonces is the key of the hash that computes nonces, hashes that of Keyring.Hash.
	nonces, hashes []byte
}

// newKey derives a key from a secret of KeySize bytes.
func newKey(secret []byte) (key, error) {
	if len(secret) != KeySize {
		return key{}, fmt.Errorf("a key has %d bytes, not %d", KeySize, len(secret))
	}
	var derived [4][]byte
	for i, purpose := range []string{"encryption", "nonce", "id", "hash"} {
		var err error
		if derived[i], err = hkdf.Key(sha256.New, secret, nil, "holdfast operator records: "+purpose, KeySize); err != nil {
			return key{}, err
		}
	}
	block, err := aes.NewCipher(derived[0])
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCM(block)
	return key{id: hex.EncodeToString(derived[2][:6]), aead: aead, nonces: derived[1], hashes: derived[3]}, err
}

// seal encrypts content and authenticates it together with about. The nonce is a keyed hash
// of both: the same content always gives the same text, and two different contents share a
// nonce only if their hashes collide.
func (k key) seal(about, content []byte) string {
	hash := hmac.New(sha256.New, k.nonces)
	hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(about))))
	hash.Write(about)
	hash.Write(content)
	nonce := hash.Sum(nil)[:k.aead.NonceSize()]
	sealed := k.aead.Seal(nonce, nonce, content, about)
	return strings.Join([]string{format, k.id, base64.RawURLEncoding.EncodeToString(sealed)}, ".")
}

// hash returns a keyed hash.
func (k key) hash(content []byte) string {
	hash := hmac.New(sha256.New, k.hashes)
	hash.Write(content)
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// open decrypts a sealed text. It returns false if the text was not sealed with this key and the
// same about.
func (k key) open(about []byte, text string) ([]byte, bool) {
	encoded, found := strings.CutPrefix(text, format+"."+k.id+".")
	if !found {
		return nil, false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(sealed) < k.aead.NonceSize() {
		return nil, false
	}
	nonce, rest := sealed[:k.aead.NonceSize()], sealed[k.aead.NonceSize():]
	content, err := k.aead.Open(nil, nonce, rest, about)
	return content, err == nil
}

// keyID returns the id of the key that sealed a text, "" if it is no sealed text.
func keyID(text string) string {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || parts[0] != format {
		return ""
	}
	return parts[1]
}
