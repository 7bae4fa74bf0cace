package certificate

import (
	"context"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	signing "holdfast.dev/holdfast/internal/access/certificate"
)

// Approval is the admission plugin CertificateApproval. A user that approves or denies a
// request needs the verb approve on its signer.
type Approval struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

// Signing is the admission plugin CertificateSigning. A user that writes the certificate of
// a request, or marks it as failed, needs the verb sign on its signer.
type Signing struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

var (
	_ admission.ValidationInterface = &Approval{}
	_ admission.ValidationInterface = &Signing{}
)

// NewApproval returns the plugin. a decides on the verb approve on signers.
func NewApproval(a authorizer.UnconditionalAuthorizer) *Approval {
	return &Approval{Handler: admission.NewHandler(admission.Update), authorizer: a}
}

// NewSigning returns the plugin. a decides on the verb sign on signers.
func NewSigning(a authorizer.UnconditionalAuthorizer) *Signing {
	return &Signing{Handler: admission.NewHandler(admission.Update), authorizer: a}
}

// Validate implements admission.ValidationInterface.
func (p *Approval) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	_, oldCSR := updated(a, "approval")
	if oldCSR == nil {
		return nil
	}
	return authorize(ctx, p.authorizer, a, signerVerb{"approve", oldCSR.Spec.SignerName})
}

// Validate implements admission.ValidationInterface.
func (p *Signing) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	csr, oldCSR := updated(a, "status")
	if csr == nil {
		return nil
	}
	unchanged := apiequality.Semantic.DeepEqual(csr.Status.Certificate, oldCSR.Status.Certificate) &&
		signing.Has(csr, certificatesv1.CertificateFailed) == signing.Has(oldCSR, certificatesv1.CertificateFailed)
	if unchanged {
		return nil
	}
	return authorize(ctx, p.authorizer, a, signerVerb{"sign", oldCSR.Spec.SignerName})
}

// updated returns the CertificateSigningRequest that is updated through a subresource, or
// nil.
func updated(a admission.Attributes, subresource string) (newCSR, oldCSR *certificatesv1.CertificateSigningRequest) {
	if a.GetResource().GroupResource() != certificatesv1.Resource("certificatesigningrequests") ||
		a.GetOperation() != admission.Update || a.GetSubresource() != subresource {
		return nil, nil
	}
	newCSR, isNew := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	oldCSR, isOld := a.GetOldObject().(*certificatesv1.CertificateSigningRequest)
	if !isNew || !isOld {
		return nil, nil
	}
	return newCSR, oldCSR
}

// signerVerb is a verb on a signer.
type signerVerb struct{ verb, signer string }

// authorize returns an error if the user does not have the verb on the signer of a request.
func authorize(ctx context.Context, rules authorizer.UnconditionalAuthorizer, a admission.Attributes, want signerVerb) error {
	if permitted(ctx, rules, a, want) {
		return nil
	}
	return admission.NewForbidden(a, fmt.Errorf("user not permitted to %s requests with signerName %q", want.verb, want.signer))
}

// permitted reports whether the user has the verb on the signer, or on all signers of its
// domain.
func permitted(ctx context.Context, rules authorizer.UnconditionalAuthorizer, a admission.Attributes, want signerVerb) bool {
	domain, _, _ := strings.Cut(want.signer, "/")
	for _, name := range []string{want.signer, domain + "/*"} {
		decision, _, err := rules.Authorize(ctx, authorizer.AttributesRecord{
			User: a.GetUserInfo(), Verb: want.verb, Name: name,
			APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers", ResourceRequest: true,
		})
		if err == nil && decision == authorizer.DecisionAllow {
			return true
		}
	}
	return false
}
