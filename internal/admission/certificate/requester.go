package certificate

import (
	"context"
	"errors"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Requester is the admission plugin that records the user that creates a
// CertificateSigningRequest. The controller approves the request of a node that renews its
// own certificate, so it relies on this record. In Kubernetes this is a part of the
// registry, and no flag turns it off.
type Requester struct{ *admission.Handler }

var (
	_ admission.MutationInterface   = Requester{}
	_ admission.ValidationInterface = Requester{}
)

// NewRequester returns the plugin.
func NewRequester() Requester { return Requester{admission.NewHandler(admission.Create)} }

// Admit implements admission.MutationInterface. It sets the requester in the spec to the
// user that creates the request, and overwrites the requester that the client sent.
func (Requester) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if csr := created(a); csr != nil {
		setRequester(&csr.Spec, a.GetUserInfo())
	}
	return nil
}

// Validate implements admission.ValidationInterface. A webhook may have changed the
// requester after Admit.
func (Requester) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	csr := created(a)
	if csr == nil {
		return nil
	}
	want := csr.Spec.DeepCopy()
	setRequester(want, a.GetUserInfo())
	if !apiequality.Semantic.DeepEqual(*want, csr.Spec) {
		return admission.NewForbidden(a, errors.New("spec.username, uid, groups and extra must be those of the user that creates the request"))
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
