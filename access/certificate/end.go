package certificate

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// How long requests are kept, as in Kubernetes: long enough to fetch an answer
// or to give one.
const (
	keepAnswered = time.Hour
	keepPending  = 24 * time.Hour
)

// endOf is when a request is removed.
func endOf(csr *certificatesv1.CertificateSigningRequest, now time.Time) time.Time {
	answered := now.Add(keepAnswered)
	found := false
	for _, condition := range []certificatesv1.RequestConditionType{
		certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed,
	} {
		c := find(csr, condition)
		if c == nil {
			continue
		}
		// An approval that has not been followed is not an answer yet.
		if condition == certificatesv1.CertificateApproved && len(csr.Status.Certificate) == 0 {
			continue
		}
		when := c.LastUpdateTime.Time
		if when.IsZero() {
			when = csr.CreationTimestamp.Time
		}
		if end := when.Add(keepAnswered); !found || end.Before(answered) {
			answered, found = end, true
		}
	}
	if found {
		return answered
	}
	return csr.CreationTimestamp.Add(keepPending)
}
