package certificate_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/access/certificate"
)

// nobody renews anything.
type nobody struct{}

func (nobody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// nodes lets the group of nodes renew, as the bootstrap binding does.
type nodes struct{}

func (nodes) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := a.GetVerb() + " " + a.GetAPIGroup() + " " + a.GetResource() + "/" + a.GetSubresource()
	if asked == "create certificates.k8s.io certificatesigningrequests/selfnodeclient" && slices.Contains(a.GetUser().GetGroups(), "system:nodes") {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func TestApprove(t *testing.T) {
	own := order{signer: kubelet, name: "system:node:n1", groups: []string{"system:nodes"}}
	withStatus := func(conditions ...certificatesv1.RequestConditionType) order {
		o := own
		o.conditions = conditions
		return o
	}
	tests := map[string]struct {
		order    order
		user     string
		groups   []string
		approver certificate.Approver
		want     bool
	}{
		"a node for itself":            {order: own, user: "system:node:n1", groups: []string{"system:nodes"}, approver: nodes{}, want: true},
		"a node for another":           {order: own, user: "system:node:n2", groups: []string{"system:nodes"}, approver: nodes{}},
		"a person for a node":          {order: own, user: "ann", groups: []string{"system:nodes"}, approver: nodes{}},
		"the name without the group":   {order: own, user: "system:node:n1", approver: nodes{}},
		"nobody was given the role":    {order: own, user: "system:node:n1", groups: []string{"system:nodes"}, approver: nobody{}},
		"by the signer of people":      {order: order{signer: client, name: "system:node:n1"}, user: "system:node:n1", groups: []string{"system:nodes"}, approver: nodes{}},
		"for the administrators":       {order: order{signer: kubelet, name: "system:node:n1", groups: []string{"system:nodes", "system:masters"}}, user: "system:node:n1", groups: []string{"system:nodes"}, approver: nodes{}},
		"denied before":                {order: withStatus(certificatesv1.CertificateDenied), user: "system:node:n1", groups: []string{"system:nodes"}, approver: nodes{}},
		"approved before":              {order: withStatus(certificatesv1.CertificateApproved), user: "system:node:n1", groups: []string{"system:nodes"}, approver: nodes{}},
		"with usages of a server, too": {order: order{signer: kubelet, name: "system:node:n1", groups: []string{"system:nodes"}, usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageServerAuth}}, user: "system:node:n1", groups: []string{"system:nodes"}, approver: nodes{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			csr := test.order.csr(t)
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
				t.Errorf("the request of the informer changed:\n%s", diff)
			}
		})
	}
}
