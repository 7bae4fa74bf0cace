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
	// Clocks of clients may be behind.
	backdate = 5 * time.Minute
	// renewBefore is how long before its end a certificate is replaced.
	renewBefore = 60 * 24 * time.Hour
)

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	// CertPEM is the authority's own certificate.
	CertPEM []byte
}

// KeyPair is a certificate and its private key, both PEM.
type KeyPair struct {
	Cert, Key []byte
}

// Subject is what a certificate says of its holder: a client's user and groups,
// or the hosts that a server answers for.
type Subject struct {
	User   string
	Groups []string
	Hosts  []string
}

// NewAuthority makes an authority that signs itself.
func NewAuthority(now time.Time) (*Authority, KeyPair, error) {
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
		Subject:               pkix.Name{CommonName: "holdfast-ca"},
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

// ParseAuthority reads an authority that NewAuthority made, or any other whose
// key may sign certificates.
func ParseAuthority(pair KeyPair) (*Authority, error) {
	cert, err := parseCertificate(pair.Cert)
	if err != nil {
		return nil, err
	}
	if !cert.IsCA {
		return nil, errors.New("certificate is no authority")
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

// Issue signs a new key for subject: a serving certificate when it names hosts,
// a client certificate otherwise.
func (a *Authority) Issue(subject Subject, now time.Time) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, fmt.Errorf("generate key: %w", err)
	}
	serial, err := serialNumber()
	if err != nil {
		return KeyPair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: subject.User, Organization: subject.Groups},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
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

// Fits says whether a certificate of the authority still serves a subject: it has
// its key, is not near its end, and is good for all the hosts.
func (a *Authority) Fits(pair KeyPair, subject Subject, now time.Time) bool {
	if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
		return false
	}
	cert, err := parseCertificate(pair.Cert)
	if err != nil || cert.CheckSignatureFrom(a.cert) != nil || now.Add(renewBefore).After(cert.NotAfter) {
		return false
	}
	return !slices.ContainsFunc(subject.Hosts, func(host string) bool { return cert.VerifyHostname(host) != nil })
}

// Lasts says whether what the authority signs now ends before the authority does.
func (a *Authority) Lasts(now time.Time) bool {
	return now.Add(leafLife + renewBefore).Before(a.cert.NotAfter)
}

func serialNumber() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	return serial, nil
}

func encodePair(der []byte, key *ecdsa.PrivateKey) (KeyPair, error) {
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return KeyPair{}, fmt.Errorf("encode key: %w", err)
	}
	return KeyPair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
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

// parseKey accepts the three encodings in which other tools write keys.
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
