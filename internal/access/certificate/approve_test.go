package certificate_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access/certificate"
)

// allowNone allows no renewal.
type allowNone struct{}

func (allowNone) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// allowNodes allows the group system:nodes to renew, like the default binding.
type allowNodes struct{}

func (allowNodes) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	request := a.GetVerb() + " " + a.GetAPIGroup() + " " + a.GetResource() + "/" + a.GetSubresource()
	if request == "create certificates.k8s.io certificatesigningrequests/selfnodeclient" &&
		slices.Contains(a.GetUser().GetGroups(), "system:nodes") {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func TestApprove(t *testing.T) {
	const n1 = "system:node:n1"
	nodes := []string{"system:nodes"}
	own := options{signer: kubelet, name: n1, groups: nodes}
	denied, approved, serving := own, own, own
	denied.conditions = conditions{certificatesv1.CertificateDenied}
	approved.conditions = conditions{certificatesv1.CertificateApproved}
	serving.usages = []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth}
	tests := map[string]struct {
		options  options
		user     string
		groups   []string
		approver certificate.Approver
		want     bool
	}{
		"node for itself":               {options: own, user: n1, groups: nodes, approver: allowNodes{}, want: true},
		"node for another node":         {options: own, user: "system:node:n2", groups: nodes, approver: allowNodes{}},
		"user without a node's name":    {options: own, user: "ann", groups: nodes, approver: allowNodes{}},
		"node's name without the group": {options: own, user: n1, approver: allowNodes{}},
		"no binding":                    {options: own, user: n1, groups: nodes, approver: allowNone{}},
		"signer for other clients": {
			options: options{signer: client, name: n1}, user: n1, groups: nodes, approver: allowNodes{},
		},
		"group system:masters requested": {
			options: options{signer: kubelet, name: n1, groups: []string{"system:nodes", "system:masters"}},
			user:    n1, groups: nodes, approver: allowNodes{},
		},
		"already denied":        {options: denied, user: n1, groups: nodes, approver: allowNodes{}},
		"already approved":      {options: approved, user: n1, groups: nodes, approver: allowNodes{}},
		"server auth requested": {options: serving, user: n1, groups: nodes, approver: allowNodes{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			csr := test.options.csr(t)
			csr.Spec.Username, csr.Spec.Groups = test.user, test.groups
			before := csr.DeepCopy()
			approved, err := certificate.Approve(t.Context(), test.approver, csr)
			if err != nil {
				t.Fatal(err)
			}
			if (approved != nil) != test.want {
				t.Errorf("approved: %v, want %v", approved != nil, test.want)
			}
			if approved != nil && approved.Status.Conditions[0].Type != certificatesv1.CertificateApproved {
				t.Errorf("conditions %v", approved.Status.Conditions)
			}
			if diff := cmp.Diff(before, csr); diff != "" {
				t.Errorf("the argument was modified:\n%s", diff)
			}
		})
	}
}
