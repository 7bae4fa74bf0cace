package access

import (
	"crypto/x509"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	requestx509 "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/utils/lru"
)

const (
	// verifiedLife is how long the server does not verify a certificate again. In this time it may accept a certificate whose
	// authority has ended.
	verifiedLife = 10 * time.Second
	// maxVerified is the number of certificates that the server remembers.
	maxVerified = 4096
)

// verifiedCertificates authenticates client certificates. It does not verify the signature of a certificate again that it has just
// verified: this takes as much processor time as the rest of a small request.
type verifiedCertificates struct {
	authenticator.Request
	options requestx509.VerifyOptionFunc
	now     func() time.Time
	known   *lru.Cache
}

// verifiedKey identifies a certificate, and the authorities that it was verified with.
type verifiedKey struct {
	leaf  *x509.Certificate
	roots *x509.CertPool
}

// verified is the response for a certificate. from and until are times of the wall clock, so that a clock that is set ends them.
type verified struct {
	response    *authenticator.Response
	from, until time.Time
}

func newVerifiedCertificates(options requestx509.VerifyOptionFunc) *verifiedCertificates {
	return &verifiedCertificates{
		Request: requestx509.NewDynamic(options, requestx509.CommonNameUserConversion),
		options: options, now: time.Now, known: lru.New(maxVerified),
	}
}

// AuthenticateRequest implements authenticator.Request.
func (v *verifiedCertificates) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) != 1 {
		// A client with intermediate certificates is rare.
		return v.Request.AuthenticateRequest(req)
	}
	options, ok := v.options()
	if !ok {
		return nil, false, nil
	}
	leaf, now := req.TLS.PeerCertificates[0], v.now().Round(0)
	key := verifiedKey{leaf: leaf, roots: options.Roots}
	if found, ok := v.known.Get(key); ok {
		if entry, ok := found.(verified); ok && !now.Before(entry.from) && now.Before(entry.until) {
			response := *entry.response
			return &response, true, nil
		}
	}
	response, ok, err := v.Request.AuthenticateRequest(req)
	if err == nil && ok {
		entry := verified{response: response, from: now, until: now.Add(verifiedLife)}
		if leaf.NotAfter.Before(entry.until) {
			entry.until = leaf.NotAfter
		}
		v.known.Add(key, entry)
		given := *response
		response = &given
	}
	return response, ok, err
}
