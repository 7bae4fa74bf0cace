package certificate

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// How long requests are kept, as in Kubernetes. A client has keepDone to fetch its
// certificate, an administrator has keepPending to approve a request.
const (
	keepDone    = time.Hour
	keepPending = 24 * time.Hour
)

// deletionTime returns when the controller deletes the request. It deletes a denied or
// failed request keepDone after the denial or failure, and a signed request keepDone
// after the approval. It deletes any other request keepPending after its creation.
func deletionTime(csr *certificatesv1.CertificateSigningRequest, now time.Time) time.Time {
	done := now.Add(keepDone)
	found := false
	for _, condition := range []certificatesv1.RequestConditionType{
		certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
	} {
		c := find(csr, condition)
		if c == nil {
			continue
		}
		// An approved request without a certificate is still pending.
		if condition == certificatesv1.CertificateApproved && len(csr.Status.Certificate) == 0 {
			continue
		}
		when := c.LastUpdateTime.Time
		if when.IsZero() {
			when = csr.CreationTimestamp.Time
		}
		if end := when.Add(keepDone); !found || end.Before(done) {
			done, found = end, true
		}
	}
	if found {
		return done
	}
	return csr.CreationTimestamp.Add(keepPending)
}
