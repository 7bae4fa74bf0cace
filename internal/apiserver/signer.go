package apiserver

import (
	"time"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/revocation"
)

// clientSigner signs the client certificates of CertificateSigningRequests.
type clientSigner struct {
	*access.Authority
	// maxLife is the longest lifetime of a certificate.
	maxLife time.Duration
	// revocations has the users whose older certificates are revoked.
	revocations *revocation.Registry
}

// SignClient implements certificate.Authority.
func (s clientSigner) SignClient(request access.ClientRequest, now time.Time) ([]byte, error) {
	if request.Life <= 0 || request.Life > s.maxLife {
		request.Life = s.maxLife
	}
	request.Subject.NotBefore = s.revocations.ValidFrom(request.Subject.User)
	return s.Authority.SignClient(request, now)
}
