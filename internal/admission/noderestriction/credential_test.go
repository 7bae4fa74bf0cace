package noderestriction_test

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/access/certificate/certificatetest"
	"holdfast.dev/holdfast/internal/access/node/nodetest"
)

// TestAdmissionOfTokens checks for which service accounts and audiences a node gets tokens.
func TestAdmissionOfTokens(t *testing.T) {
	create := admission.Create
	tokenFor := func(spec, want string) write {
		if want != "" {
			want = `serviceaccounts "robot" is forbidden: ` + want
		}
		return write{
			operation: create, resource: saResource, subresource: "token", name: "robot",
			newObj: `{metadata: {namespace: a}, spec: ` + spec + `}`, want: want,
		}
	}
	const boundToWeb = `boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: web-uid}`
	tokenOfOtherNode := tokenFor(`{audiences: [api], `+boundToWeb+`}`, "node requested token bound to a pod scheduled on a different node")
	tokenOfOtherNode.user = nodetest.User("n2")
	tokenOfOtherAccount := tokenFor(`{audiences: [api], `+boundToWeb+`}`, "")
	tokenOfOtherAccount.name = "theirs"
	tokenOfOtherAccount.want = `serviceaccounts "theirs" is forbidden: node requested token for another service account than the pod's`
	validate(t, map[string]write{
		"token for its pod": tokenFor(`{audiences: [api], `+boundToWeb+`}`, ""),
		"token for a pod that the lister does not have": tokenFor(
			`{boundObjectRef: {apiVersion: v1, kind: Pod, name: late, uid: late-uid}}`, ""),
		"token for the audience of a volume": tokenFor(`{audiences: [vault], `+boundToWeb+`}`, ""),
		"token for the audience of a driver": tokenFor(`{audiences: [storage], `+boundToWeb+`}`, ""),
		"token for an audience of no volume": tokenFor(`{audiences: [vault, bank], `+boundToWeb+`}`,
			`audience "bank" not found in pod spec volume`),
		"token that is not bound": tokenFor(`{}`, "node requested token not bound to a pod"),
		"token bound to a secret": tokenFor(`{boundObjectRef: {apiVersion: v1, kind: Secret, name: web, uid: x}}`,
			"node requested token not bound to a pod"),
		"token bound to a pod without UID": tokenFor(`{boundObjectRef: {apiVersion: v1, kind: Pod, name: web}}`,
			"node requested token with a pod binding without a uid"),
		"token bound to a deleted pod": tokenFor(`{boundObjectRef: {apiVersion: v1, kind: Pod, name: web, uid: old}}`,
			"node requested token bound to a pod that does not exist"),
		"token for another node's pod": tokenOfOtherNode,
		"token for another account":    tokenOfOtherAccount,
	})
}

// TestAdmissionOfCertificates checks which certificates a node may request.
func TestAdmissionOfCertificates(t *testing.T) {
	const (
		kubelet = certificatesv1.KubeAPIServerClientKubeletSignerName
		noCSR   = `certificatesigningrequests.certificates.k8s.io "csr" is forbidden: node "n1" may only `
	)
	create, update := admission.Create, admission.Update
	validate(t, map[string]write{
		"certificate for itself": {operation: create, resource: csrResource, newObj: csr(t, "system:node:n1", kubelet)},
		"serving certificate": {
			operation: create, resource: csrResource, newObj: csr(t, "system:node:n1", certificatesv1.KubeletServingSignerName),
		},
		"certificate for another node": {
			operation: create, resource: csrResource, newObj: csr(t, "system:node:n2", kubelet),
			want: noCSR + `ask for a certificate of its own name`,
		},
		"certificate from another signer": {
			operation: create, resource: csrResource, newObj: csr(t, "ann", certificatesv1.KubeAPIServerClientSignerName),
			want: noCSR + `ask the signers kubernetes.io/kube-apiserver-client-kubelet and kubernetes.io/kubelet-serving`,
		},
		"approve a certificate": {
			operation: update, resource: csrResource, subresource: "approval", newObj: csr(t, "system:node:n1", kubelet),
			want: noCSR + `create certificate signing requests`,
		},
	})
}

// csr returns a CertificateSigningRequest for the user name, in YAML.
// csr returns a request of a node for a client certificate, as YAML.
func csr(t *testing.T, name, signer string) string {
	t.Helper()
	data, err := yaml.Marshal(certificatetest.Request(t, signer, name, user.NodesGroup))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
