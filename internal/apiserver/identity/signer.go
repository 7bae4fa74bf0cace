package identity

import (
	"time"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/certificate"
	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// ClientSigner returns what signs the client certificates of CertificateSigningRequests.
func (s Stage) ClientSigner(b start.Base) certificate.Authority {
	return clientSigner{Authority: b.PKI.Authority(), maxLife: b.Config.MaxCertificateLife, revocations: s.revocations}
}

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
