package certificate_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access/certificate/certificatetest"
	"holdfast.dev/holdfast/internal/admission/certificate"
)

const client = certificatesv1.KubeAPIServerClientSignerName

var ann = &user.DefaultInfo{Name: "ann", UID: "u", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}

// signers allows ann to approve for one signer, bob to approve for all signers of
// kubernetes.io, and carl to sign. ann may attest for a third signer.
var signers = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	key := a.GetUser().GetName() + " " + a.GetVerb() + " " + a.GetAPIGroup() + " " + a.GetResource() + " " + a.GetName()
	switch key {
	case "ann approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client",
		"bob approve certificates.k8s.io signers kubernetes.io/*",
		"carl sign certificates.k8s.io signers kubernetes.io/kube-apiserver-client",
		"ann attest certificates.k8s.io signers example.com/issuer":
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
})

func request(newObj, oldObj runtime.Object, subresource string, u user.Info) admission.Attributes {
	operation := admission.Create
	if oldObj != nil {
		operation = admission.Update
	}
	kind := certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest")
	resource := certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")
	return admission.NewAttributesRecord(newObj, oldObj, kind, "", "csr", resource, subresource, operation, nil, false, u)
}

func TestAdmitSetsRequester(t *testing.T) {
	plugin := certificate.NewRequester()
	csr := certificatetest.Request(t, client, "x")
	csr.Spec.Username, csr.Spec.Groups = "root", []string{"system:masters"}
	if err := plugin.Validate(t.Context(), request(csr, nil, "", ann), nil); err == nil {
		t.Error("requester that the client set: accepted")
	}
	if err := plugin.Admit(t.Context(), request(csr, nil, "", ann), nil); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Validate(t.Context(), request(csr, nil, "", ann), nil); err != nil {
		t.Error(err)
	}
	want := certificatesv1.CertificateSigningRequestSpec{
		Username: "ann", UID: "u", Groups: []string{"dev"}, Extra: map[string]certificatesv1.ExtraValue{"k": {"v"}},
	}
	got := certificatesv1.CertificateSigningRequestSpec{
		Username: csr.Spec.Username, UID: csr.Spec.UID, Groups: csr.Spec.Groups, Extra: csr.Spec.Extra,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requester (-want +got):\n%s", diff)
	}
}

func TestAdmission(t *testing.T) {
	plain := certificatetest.Request(t, client, "x")
	signed := plain.DeepCopy()
	signed.Status.Certificate = []byte("x")
	failed := plain.DeepCopy()
	failed.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{
		{Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue},
	}
	node := certificatetest.Request(t, certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:n", "system:nodes")
	masters := certificatetest.Request(t, client, "x", "system:masters")
	mastersOfOther := certificatetest.Request(t, "example.com/x", "x", "system:masters")
	const forbidden = `certificatesigningrequests.certificates.k8s.io "csr" is forbidden: `
	const notPermitted = forbidden + "user not permitted to "
	tests := map[string]struct {
		newObj, oldObj *certificatesv1.CertificateSigningRequest
		subresource    string
		user           string
		want           string
	}{
		"approve": {newObj: plain, oldObj: plain, subresource: "approval", user: "ann"},
		"approve for another signer": {
			newObj: node, oldObj: node, subresource: "approval", user: "ann",
			want: notPermitted + `approve requests with signerName "kubernetes.io/kube-apiserver-client-kubelet"`,
		},
		"approve and change the signer": {
			newObj: plain, oldObj: node, subresource: "approval", user: "ann",
			want: notPermitted + `approve requests with signerName "kubernetes.io/kube-apiserver-client-kubelet"`,
		},
		"approve with the right for the domain": {newObj: node, oldObj: node, subresource: "approval", user: "bob"},
		"update the status, no certificate":     {newObj: plain, oldObj: plain, subresource: "status", user: "ann"},
		"sign":                                  {newObj: signed, oldObj: plain, subresource: "status", user: "carl"},
		"sign without the right": {
			newObj: signed, oldObj: plain, subresource: "status", user: "ann",
			want: notPermitted + `sign requests with signerName "kubernetes.io/kube-apiserver-client"`,
		},
		"set Failed without the right": {
			newObj: failed, oldObj: plain, subresource: "status", user: "ann",
			want: notPermitted + `sign requests with signerName "kubernetes.io/kube-apiserver-client"`,
		},
		"update the metadata": {newObj: plain, oldObj: plain, user: "ann"},
		"request system:masters": {
			newObj: masters, user: "ann",
			want: forbidden + "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed",
		},
		"request system:masters from another signer": {newObj: mastersOfOther, user: "ann"},
	}
	plugins := []admission.ValidationInterface{
		certificate.NewRequester(), certificate.NewApproval(signers), certificate.NewSigning(signers), certificate.NewSubject(),
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var oldObj runtime.Object
			newObj := test.newObj.DeepCopy()
			u := &user.DefaultInfo{Name: test.user}
			if test.oldObj != nil {
				oldObj = test.oldObj
			} else if err := certificate.NewRequester().Admit(t.Context(), request(newObj, nil, "", u), nil); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, plugin := range plugins {
				if err := plugin.Validate(t.Context(), request(newObj, oldObj, test.subresource, u), nil); err != nil {
					got += err.Error()
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestAttest(t *testing.T) {
	bundle := func(signer, anchors string, finalizers ...string) *certificatesv1.ClusterTrustBundle {
		out := &certificatesv1.ClusterTrustBundle{}
		out.Name, out.Finalizers = "b", finalizers
		out.Spec.SignerName, out.Spec.TrustBundle = signer, anchors
		return out
	}
	const issuer = "example.com/issuer"
	const refused = `clustertrustbundles.certificates.k8s.io "b" is forbidden: ` +
		`user not permitted to attest for signerName "example.com/issuer"`
	tests := map[string]struct {
		newObj, oldObj *certificatesv1.ClusterTrustBundle
		user, want     string
	}{
		"create":                   {newObj: bundle(issuer, "x"), user: "ann"},
		"create without right":     {newObj: bundle(issuer, "x"), user: "bob", want: refused},
		"create without signer":    {newObj: bundle("", "x"), user: "bob"},
		"update":                   {newObj: bundle(issuer, "y"), oldObj: bundle(issuer, "x"), user: "ann"},
		"update without right":     {newObj: bundle(issuer, "y"), oldObj: bundle(issuer, "x"), user: "bob", want: refused},
		"finalizers without right": {newObj: bundle(issuer, "x"), oldObj: bundle(issuer, "x", "a.com/b"), user: "bob"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			operation, oldObj := admission.Create, runtime.Object(nil)
			if test.oldObj != nil {
				operation, oldObj = admission.Update, test.oldObj
			}
			a := admission.NewAttributesRecord(test.newObj, oldObj, certificatesv1.SchemeGroupVersion.WithKind("ClusterTrustBundle"), "", "b",
				certificatesv1.SchemeGroupVersion.WithResource("clustertrustbundles"), "", operation, nil, false,
				&user.DefaultInfo{Name: test.user})
			got := ""
			if err := certificate.NewAttest(signers).Validate(t.Context(), a, nil); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
