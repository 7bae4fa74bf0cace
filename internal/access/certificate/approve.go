package certificate

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Approver decides whether a node may renew its certificate without the approval of an
// administrator. The server's authorizer implements it.
type Approver interface {
	Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error)
}

// Approve returns an approved copy of csr if it can be approved automatically, and nil
// if an administrator has to decide. It follows the rule of Kubernetes for nodes that
// renew their certificate: the requester is the node that the certificate is for, and
// may create certificatesigningrequests/selfnodeclient.
func Approve(
	ctx context.Context, approver Approver, csr *certificatesv1.CertificateSigningRequest,
) (*certificatesv1.CertificateSigningRequest, error) {
	if !isRenewal(csr) {
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
		return nil, fmt.Errorf("authorize %s to renew its own certificate: %w", csr.Spec.Username, err)
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

// isRenewal reports whether csr is an undecided request of a node for a certificate
// with its own name.
func isRenewal(csr *certificatesv1.CertificateSigningRequest) bool {
	if csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName || len(csr.Status.Certificate) > 0 ||
		Has(csr, certificatesv1.CertificateApproved) || Has(csr, certificatesv1.CertificateDenied) ||
		Has(csr, certificatesv1.CertificateFailed) {
		return false
	}
	// A request that would not be signed is not approved. It stays pending, so that
	// an administrator can see it.
	wanted, err := Check(csr.Spec)
	return err == nil && wanted.Subject.User == csr.Spec.Username
}
