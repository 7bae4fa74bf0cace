package certificate

import (
	"context"
	"crypto/x509"
	"encoding/pem"

	"k8s.io/apiserver/pkg/admission"

	signing "holdfast.dev/holdfast/internal/access/certificate"
)

// Subject is the admission plugin CertificateSubjectRestriction. It rejects a new request
// for a subject that the server never signs, such as the group system:masters. The signer
// checks the subject too.
type Subject struct{ *admission.Handler }

var _ admission.ValidationInterface = Subject{}

// NewSubject returns the plugin.
func NewSubject() Subject { return Subject{admission.NewHandler(admission.Create)} }

// Validate implements admission.ValidationInterface.
func (Subject) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	csr := created(a)
	if csr == nil || !signing.Known(csr.Spec.SignerName) {
		return nil
	}
	// If the request cannot be parsed, the validation of the kind rejects it.
	block, _ := pem.Decode(csr.Spec.Request)
	if block == nil {
		return nil
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil //nolint:nilerr // see the comment above
	}
	if err := signing.CheckSubject(csr.Spec.SignerName, request); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}
