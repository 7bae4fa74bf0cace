package access

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// ClientRequest asks for a client certificate for a key that the client holds.
type ClientRequest struct {
	Public crypto.PublicKey
	// Subject is the user and the groups. Its hosts are ignored.
	Subject Subject
	// Life is how long the certificate is valid. Zero means one year, which is also the
	// maximum.
	Life time.Duration
}

// SignClient signs a client certificate and returns it PEM-encoded. It expires no
// later than the authority.
func (a *Authority) SignClient(request ClientRequest, now time.Time) ([]byte, error) {
	template, err := clientTemplate(request.Subject, now)
	if err != nil {
		return nil, err
	}
	template.BasicConstraintsValid = true
	life := request.Life
	if life <= 0 || life > leafLife {
		life = leafLife
	}
	template.NotAfter = now.Add(life)
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, request.Public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", request.Subject.User, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
