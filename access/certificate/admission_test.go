package certificate_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/access/certificate"
)

var ann = &user.DefaultInfo{Name: "ann", UID: "u", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}

// approvers: ann for one signer, bob for the domain, carl signs.
var approvers = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	key := a.GetUser().GetName() + " " + a.GetVerb() + " " + a.GetAPIGroup() + " " + a.GetResource() + " " + a.GetName()
	switch key {
	case "ann approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client",
		"bob approve certificates.k8s.io signers kubernetes.io/*",
		"carl sign certificates.k8s.io signers kubernetes.io/kube-apiserver-client":
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
})

func request(newObj, oldObj runtime.Object, subresource string, u user.Info) admission.Attributes {
	operation := admission.Create
	if oldObj != nil {
		operation = admission.Update
	}
	return admission.NewAttributesRecord(newObj, oldObj, certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), "", "csr",
		certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"), subresource, operation, nil, false, u)
}

func TestRequesterIsWhoAsks(t *testing.T) {
	plugin := certificate.NewAdmission(approvers)
	csr := order{signer: client, name: "x"}.csr(t)
	csr.Spec.Username, csr.Spec.Groups = "root", []string{"system:masters"}
	if err := plugin.Validate(t.Context(), request(csr, nil, "", ann), nil); err == nil {
		t.Error("a forged requester: accepted")
	}
	if err := plugin.Admit(t.Context(), request(csr, nil, "", ann), nil); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Validate(t.Context(), request(csr, nil, "", ann), nil); err != nil {
		t.Error(err)
	}
	want := certificatesv1.CertificateSigningRequestSpec{Username: "ann", UID: "u", Groups: []string{"dev"}, Extra: map[string]certificatesv1.ExtraValue{"k": {"v"}}}
	got := certificatesv1.CertificateSigningRequestSpec{Username: csr.Spec.Username, UID: csr.Spec.UID, Groups: csr.Spec.Groups, Extra: csr.Spec.Extra}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requester (-want +got):\n%s", diff)
	}
}

func TestAdmission(t *testing.T) {
	plain := order{signer: client, name: "x"}.csr(t)
	signed := plain.DeepCopy()
	signed.Status.Certificate = []byte("x")
	failed := order{signer: client, name: "x", conditions: []certificatesv1.RequestConditionType{certificatesv1.CertificateFailed}}.csr(t)
	nodes := order{signer: kubelet, name: "system:node:n", groups: []string{"system:nodes"}}.csr(t)
	masters := order{signer: client, name: "x", groups: []string{"system:masters"}}.csr(t)
	foreign := order{signer: "example.com/x", name: "x", groups: []string{"system:masters"}}.csr(t)
	const forbidden = `certificatesigningrequests.certificates.k8s.io "csr" is forbidden: `
	tests := map[string]struct {
		newObj, oldObj *certificatesv1.CertificateSigningRequest
		subresource    string
		user           string
		want           string
	}{
		"approve":                      {newObj: plain, oldObj: plain, subresource: "approval", user: "ann"},
		"approve another signer":       {newObj: nodes, oldObj: nodes, subresource: "approval", user: "ann", want: forbidden + `user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client-kubelet"`},
		"approve, signer swapped":      {newObj: plain, oldObj: nodes, subresource: "approval", user: "ann", want: forbidden + `user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client-kubelet"`},
		"approve for the domain":       {newObj: nodes, oldObj: nodes, subresource: "approval", user: "bob"},
		"status without a certificate": {newObj: plain, oldObj: plain, subresource: "status", user: "ann"},
		"sign":                         {newObj: signed, oldObj: plain, subresource: "status", user: "carl"},
		"sign without the right":       {newObj: signed, oldObj: plain, subresource: "status", user: "ann", want: forbidden + `user not permitted to sign requests with signerName "kubernetes.io/kube-apiserver-client"`},
		"fail without the right":       {newObj: failed, oldObj: plain, subresource: "status", user: "ann", want: forbidden + `user not permitted to sign requests with signerName "kubernetes.io/kube-apiserver-client"`},
		"a label":                      {newObj: plain, oldObj: plain, user: "ann"},
		"ask for system:masters":       {newObj: masters, user: "ann", want: forbidden + "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		"ask another signer for it":    {newObj: foreign, user: "ann"},
	}
	plugin := certificate.NewAdmission(approvers)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var oldObj runtime.Object
			newObj := test.newObj.DeepCopy()
			u := &user.DefaultInfo{Name: test.user}
			if test.oldObj != nil {
				oldObj = test.oldObj
			} else if err := plugin.Admit(t.Context(), request(newObj, nil, "", u), nil); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := plugin.Validate(t.Context(), request(newObj, oldObj, test.subresource, u), nil); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
