package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	// backdate moves NotBefore into the past, for clients with a slow clock.
	backdate = 5 * time.Minute
	// renewBefore is how long before its expiry a certificate is replaced.
	renewBefore = 60 * 24 * time.Hour
)

// Authority is a certificate authority: a CA certificate with its private key.
// It is safe for concurrent use.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	// CertPEM is the CA certificate.
	CertPEM []byte
	// ServerName is the name that kubeconfigs give to the server in TLS. If it is empty, they
	// use the host of its URL.
	ServerName string
}

// KeyPair is a certificate and its private key, both PEM-encoded.
type KeyPair struct {
	Cert, Key []byte
}

// Subject is the identity in a certificate. A client certificate has a user and
// groups. A serving certificate has hosts: the DNS names and IP addresses under
// which clients reach the server.
type Subject struct {
	User   string
	Groups []string
	Hosts  []string
	// NotBefore is the earliest start of the certificate. Zero means a few minutes before it
	// is signed, for clients with a slow clock.
	NotBefore time.Time
}

// NewAuthority generates a key and a self-signed CA certificate for it. The
// KeyPair is the same authority in the form that ParseAuthority reads.
func NewAuthority(now time.Time) (*Authority, KeyPair, error) {
	return newAuthority("holdfast-ca", now)
}

// newAuthority is NewAuthority for an authority with the given common name.
func newAuthority(name string, now time.Time) (*Authority, KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, KeyPair{}, fmt.Errorf("generate authority key: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, KeyPair{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, KeyPair{}, fmt.Errorf("sign authority: %w", err)
	}
	pair, err := encodePair(der, key)
	if err != nil {
		return nil, KeyPair{}, err
	}
	authority, err := ParseAuthority(pair)
	return authority, pair, err
}

// ParseAuthority decodes a CA certificate and its key, from NewAuthority or from
// another tool.
func ParseAuthority(pair KeyPair) (*Authority, error) {
	cert, err := parseCertificate(pair.Cert)
	if err != nil {
		return nil, err
	}
	if !cert.IsCA {
		return nil, errors.New("the certificate is not that of a certificate authority")
	}
	block, _ := pem.Decode(pair.Key)
	if block == nil {
		return nil, errors.New("key: no PEM data")
	}
	key, err := parseKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	if public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(cert.PublicKey) {
		return nil, errors.New("key and certificate do not belong together")
	}
	return &Authority{cert: cert, key: key, CertPEM: pair.Cert}, nil
}

// Issue generates a key and signs a certificate for it, valid for one year. It is
// a serving certificate if the subject has hosts, otherwise a client certificate.
func (a *Authority) Issue(subject Subject, now time.Time) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("generate key: %w", err)
	}
	template, err := clientTemplate(subject, now)
	if err != nil {
		return KeyPair{}, err
	}
	if len(subject.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, host := range subject.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("sign certificate of %s: %w", subject.User, err)
	}
	return encodePair(der, key)
}

// Fits reports whether the pair can stay in use for the subject. The authority
// must have signed the certificate, the key must belong to it, it must have begun,
// it must not expire within 60 days, and it must be valid for every host of the
// subject. Fits does not compare the user and the groups.
func (a *Authority) Fits(pair KeyPair, subject Subject, now time.Time) bool {
	if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
		return false
	}
	cert, err := parseCertificate(pair.Cert)
	if err != nil || cert.CheckSignatureFrom(a.cert) != nil || now.Add(renewBefore).After(cert.NotAfter) {
		return false
	}
	// The clock was ahead when the certificate was issued. A certificate that begins in a moment
	// is one that replaces a revoked one.
	if now.Add(backdate).Before(cert.NotBefore) {
		return false
	}
	return !slices.ContainsFunc(subject.Hosts, func(host string) bool { return cert.VerifyHostname(host) != nil })
}

// ExpiresSoon reports whether the authority should be replaced: it would expire
// less than 60 days after a certificate that it signs now.
func (a *Authority) ExpiresSoon(now time.Time) bool {
	return !now.Add(leafLife + renewBefore).Before(a.cert.NotAfter)
}

// checkTime returns an error if the authority has not begun or has ended. No client trusts its
// certificates then.
func (a *Authority) checkTime(now time.Time) error {
	clock := now.UTC().Format(time.RFC3339)
	switch {
	case now.Before(a.cert.NotBefore):
		return fmt.Errorf("it begins at %s, and the clock of this machine says %s: set the clock", a.cert.NotBefore.Format(time.RFC3339), clock)
	case now.After(a.cert.NotAfter):
		return fmt.Errorf("it ended at %s, and the clock of this machine says %s: set the clock if it is wrong; otherwise remove the files ca.*, "+
			"serving.*, admin.* and kubelet-client.* beside it, and issue every kubeconfig again", a.cert.NotAfter.Format(time.RFC3339), clock)
	}
	return nil
}

// clientTemplate returns the template of a client certificate that is valid for
// one year.
func clientTemplate(subject Subject, now time.Time) (*x509.Certificate, error) {
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	notBefore := now.Add(-backdate)
	if subject.NotBefore.After(notBefore) {
		notBefore = subject.NotBefore
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: subject.User, Organization: subject.Groups},
		NotBefore:    notBefore,
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, nil
}

func serialNumber() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	return serial, nil
}

func encodePair(der []byte, key *ecdsa.PrivateKey) (KeyPair, error) {
	keyPEM, err := encodeKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: keyPEM}, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("certificate: no PEM data")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return cert, nil
}

// parseKey decodes a private key in SEC 1, PKCS #1 or PKCS #8 form, since tools
// differ in which they write.
func parseKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("cannot sign")
	}
	return signer, nil
}
