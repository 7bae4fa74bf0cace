package certificate

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Approver says who may renew a certificate without being asked about;
// an authorizer.Authorizer does.
type Approver interface {
	Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error)
}

// Approve returns a copy of a request that needs nobody's approval, approved;
// nil when somebody is to decide. It is Kubernetes' rule for nodes that renew
// their certificate: who asks is the node that the certificate is for, and may
// create certificatesigningrequests/selfnodeclient.
func Approve(ctx context.Context, approver Approver, csr *certificatesv1.CertificateSigningRequest) (*certificatesv1.CertificateSigningRequest, error) {
	if !renews(csr) {
		return nil, nil
	}
	extra := make(map[string][]string, len(csr.Spec.Extra))
	for key, values := range csr.Spec.Extra {
		extra[key] = values
	}
	decision, _, err := approver.Authorize(ctx, authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: csr.Spec.Username, UID: csr.Spec.UID, Groups: csr.Spec.Groups, Extra: extra},
		Verb: "create", APIGroup: certificatesv1.GroupName, APIVersion: "*",
		Resource: "certificatesigningrequests", Subresource: "selfnodeclient", ResourceRequest: true,
	})
	if err != nil {
		return nil, fmt.Errorf("ask whether %s renews its own certificate: %w", csr.Spec.Username, err)
	}
	if decision != authorizer.DecisionAllow {
		return nil, nil
	}
	approved := csr.DeepCopy()
	approved.Status.Conditions = append(approved.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "AutoApproved",
		Message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
	})
	return approved, nil
}

// renews reports whether an undecided request is a node's for its own name.
func renews(csr *certificatesv1.CertificateSigningRequest) bool {
	if csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName || len(csr.Status.Certificate) > 0 ||
		has(csr, certificatesv1.CertificateApproved) || has(csr, certificatesv1.CertificateDenied) || has(csr, certificatesv1.CertificateFailed) {
		return false
	}
	// What would not be signed is left for a person to see.
	wanted, err := Check(csr.Spec)
	return err == nil && wanted.Subject.User == csr.Spec.Username
}
