package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ServiceAccountKey reads the key that signs service account tokens, and
// generates it on first use. An unreadable key is an error and is never replaced
// automatically: every token issued so far depends on it.
func (p *PKI) ServiceAccountKey() (*ecdsa.PrivateKey, error) {
	path := p.path("sa", "key")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p.newServiceAccountKey(path)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("read %s: no PEM data", path)
	}
	parsed, err := parseKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("read %s: not an ECDSA P-256 key", path)
	}
	return key, nil
}

func (p *PKI) newServiceAccountKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate service-account key: %w", err)
	}
	data, err := encodeKey(key)
	if err != nil {
		return nil, fmt.Errorf("service-account key: %w", err)
	}
	return key, writeFile(path, data, 0o600)
}
