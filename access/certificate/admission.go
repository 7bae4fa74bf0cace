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

// Admission is the plugin that writes down who asks, refuses at once what is
// never signed, and asks whether somebody may approve for a signer, or sign.
type Admission struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// NewAdmission asks a for the verbs approve and sign on signers.
func NewAdmission(a authorizer.UnconditionalAuthorizer) *Admission {
	return &Admission{Handler: admission.NewHandler(admission.Create, admission.Update), authorizer: a}
}

// Admit implements admission.MutationInterface: the requester is the user who
// creates, whatever the request says.
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
		return p.may(ctx, a, "approve", oldCSR.Spec.SignerName)
	case "status":
		same := apiequality.Semantic.DeepEqual(csr.Status.Certificate, oldCSR.Status.Certificate) &&
			has(csr, certificatesv1.CertificateFailed) == has(oldCSR, certificatesv1.CertificateFailed)
		if same {
			return nil
		}
		return p.may(ctx, a, "sign", oldCSR.Spec.SignerName)
	}
	return nil
}

func created(a admission.Attributes) *certificatesv1.CertificateSigningRequest {
	if a.GetResource().GroupResource() != certificatesv1.Resource("certificatesigningrequests") ||
		a.GetOperation() != admission.Create || a.GetSubresource() != "" {
		return nil
	}
	csr, _ := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	return csr
}

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
	// A request that cannot be read is refused by the rules of its kind.
	block, _ := pem.Decode(csr.Spec.Request)
	if block == nil {
		return nil
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if err := checkSubject(csr.Spec.SignerName, request); err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// may asks for a verb on a signer, or on all signers of its domain.
func (p *Admission) may(ctx context.Context, a admission.Attributes, verb, signer string) error {
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
