package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"time"
)

// overlap is how long the API server accepts an authority that was replaced. It is longer than all processes need to
// use a certificate of the new one.
const overlap = time.Hour

// Authorities are the certificates of the authorities that the API server accepts: the current one, and for some time those
// before it. It is not safe for concurrent use.
type Authorities struct {
	// replaced has the time at which a certificate was first seen as replaced, by its DER encoding.
	replaced map[string]time.Time
}

// Bundle returns the certificates for the webhook configurations, in PEM. current is the certificate of the
// authority, and accepted are the certificates that the configurations have now. One that current no longer has
// stays for an hour, unless it expires.
func (a *Authorities) Bundle(current, accepted []byte, now time.Time) []byte {
	wanted := certificates(current)
	known := map[string]bool{}
	for _, cert := range wanted {
		known[string(cert.Raw)] = true
	}
	replaced := map[string]time.Time{}
	out := append([]byte(nil), current...)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	for _, cert := range certificates(accepted) {
		if known[string(cert.Raw)] || now.After(cert.NotAfter) {
			continue
		}
		since, seen := a.replaced[string(cert.Raw)]
		if !seen {
			since = now
		}
		replaced[string(cert.Raw)] = since
		if now.Sub(since) < overlap {
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
		}
	}
	a.replaced = replaced
	return out
}

// certificates decodes the certificates in a PEM text, without those that are not valid.
func certificates(text []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, cert)
		}
	}
	return out
}

// Accepts reports whether a client with a bundle of authorities accepts a serving certificate.
func Accepts(bundle []byte, pair *tls.Certificate, now time.Time) bool {
	leaf, err := leafOf(pair)
	if err != nil {
		return false
	}
	roots := x509.NewCertPool()
	for _, cert := range certificates(bundle) {
		roots.AddCert(cert)
	}
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if cert, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(cert)
		}
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err == nil
}

// leafOf returns the certificate of a pair.
func leafOf(pair *tls.Certificate) (*x509.Certificate, error) {
	return x509.ParseCertificate(pair.Certificate[0])
}
