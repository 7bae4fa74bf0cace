package certificate

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Admission is the admission plugin for CertificateSigningRequests. It records the
// requester in the spec and rejects a request for a subject that the server never
// signs. When a user approves or signs a request, it checks that the user has the verb
// approve or sign on the signer.
type Admission struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// NewAdmission returns the plugin. a decides on the verbs approve and sign on signers.
func NewAdmission(a authorizer.UnconditionalAuthorizer) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), authorizer: a}
}

// Admit implements admission.MutationInterface. It sets the requester in the spec to the
// user that creates the request, and overwrites the requester that the client sent.
func (p *Admission) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if csr := created(a); csr != nil {
		setRequester(&csr.Spec, a.GetUserInfo())
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if csr := created(a); csr != nil {
		return judgeCreated(a, csr)
	}
	csr, oldCSR := updated(a)
	if csr == nil {
		return nil
	}
	switch a.GetSubresource() {
	case "approval":
		return p.authorize(ctx, a, "approve", oldCSR.Spec.SignerName)
	case "status":
		unchanged := apiequality.Semantic.DeepEqual(csr.Status.Certificate, oldCSR.Status.Certificate) &&
			has(csr, certificatesv1.CertificateFailed) == has(oldCSR, certificatesv1.CertificateFailed)
		if unchanged {
			return nil
		}
		return p.authorize(ctx, a, "sign", oldCSR.Spec.SignerName)
	}
	return nil
}

// created returns the CertificateSigningRequest that is created, or nil.
func created(a admission.Attributes) *certificatesv1.CertificateSigningRequest {
	if a.GetResource().GroupResource() != certificatesv1.Resource("certificatesigningrequests") ||
		a.GetOperation() != admission.Create || a.GetSubresource() != "" {
		return nil
	}
	csr, _ := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	return csr
}

// updated returns the CertificateSigningRequest that is updated, or nil.
func updated(a admission.Attributes) (newCSR, oldCSR *certificatesv1.CertificateSigningRequest) {
	if a.GetResource().GroupResource() != certificatesv1.Resource("certificatesigningrequests") || a.GetOperation() != admission.Update {
		return nil, nil
	}
	newCSR, isNew := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	oldCSR, isOld := a.GetOldObject().(*certificatesv1.CertificateSigningRequest)
	if !isNew || !isOld {
		return nil, nil
	}
	return newCSR, oldCSR
}

func setRequester(spec *certificatesv1.CertificateSigningRequestSpec, u user.Info) {
	spec.Username, spec.UID, spec.Groups, spec.Extra = "", "", nil, nil
	if u == nil {
		return
	}
	spec.Username, spec.UID, spec.Groups = u.GetName(), u.GetUID(), u.GetGroups()
	for key, values := range u.GetExtra() {
		if spec.Extra == nil {
			spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		spec.Extra[key] = values
	}
}

func judgeCreated(a admission.Attributes, csr *certificatesv1.CertificateSigningRequest) error {
	want := csr.Spec.DeepCopy()
	setRequester(want, a.GetUserInfo())
	if !apiequality.Semantic.DeepEqual(*want, csr.Spec) {
		return admission.NewForbidden(a, errors.New("spec.username, uid, groups and extra are those of the user who creates the request"))
	}
	if !Known(csr.Spec.SignerName) {
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
	if err := checkSubject(csr.Spec.SignerName, request); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// authorize checks that the user has the verb on the signer, or on all signers of its
// domain.
func (p *Admission) authorize(ctx context.Context, a admission.Attributes, verb, signer string) error {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, err := p.authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User: a.GetUserInfo(), Verb: verb, Name: name,
			APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers", ResourceRequest: true,
		})
		if err == nil && decision == authorizer.DecisionAllow {
			return nil
		}
	}
	return admission.NewForbidden(a, fmt.Errorf("user not permitted to %s requests with signerName %q", verb, signer))
}
