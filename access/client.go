package access

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"time"
)

// ClientRequest is what somebody with a key of their own wants signed.
type ClientRequest struct {
	Public crypto.PublicKey
	// Subject has a user and groups; hosts are not for clients.
	Subject Subject
	// Life is how long the certificate is good; zero is the longest, a year.
	Life time.Duration
}

// SignClient signs a client certificate and returns it as PEM. It is never good
// for longer than the authority itself.
func (a *Authority) SignClient(request ClientRequest, now time.Time) ([]byte, error) {
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	life := request.Life
	if life <= 0 || life > leafLife {
		life = leafLife
	}
	until := now.Add(life)
	if until.After(a.cert.NotAfter) {
		until = a.cert.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: request.Subject.User, Organization: request.Subject.Groups},
		NotBefore:             now.Add(-backdate),
		NotAfter:              until,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, request.Public, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate of %s: %w", request.Subject.User, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
