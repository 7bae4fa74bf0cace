package noderestriction

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"

	accessnode "holdfast.dev/holdfast/internal/access/node"
)

type podRef struct {
	name string
	uid  types.UID
}

// judgeTokenRequest allows a node to request a token that is bound to a pod of the
// node, for the service account of that pod, and for the API's audiences or those in
// a volume of the pod.
func (p *Plugin) judgeTokenRequest(ctx context.Context, node string, a admission.Attributes) (string, error) {
	req, ok := a.GetObject().(*authenticationv1.TokenRequest)
	if !ok {
		return fmt.Sprintf("node %q may only request tokens", node), nil
	}
	ref := req.Spec.BoundObjectRef
	switch {
	case ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "":
		return "node requested token not bound to a pod", nil
	case ref.UID == "":
		return "node requested token with a pod binding without a uid", nil
	}
	pod, err := p.findPod(ctx, a.GetNamespace(), podRef{name: ref.Name, uid: ref.UID})
	if err != nil {
		return "", err
	}
	switch {
	case pod == nil || pod.UID != ref.UID:
		return "node requested token bound to a pod that does not exist", nil
	case node == "" || pod.Spec.NodeName != node:
		return "node requested token bound to a pod scheduled on a different node", nil
	case pod.Spec.ServiceAccountName != a.GetName():
		return "node requested token for another service account than the pod's", nil
	}
	for _, audience := range req.Spec.Audiences {
		if !slices.Contains(p.APIAudiences, audience) && !projectsToken(pod, audience) && !p.Relations.DriverNeeds(pod, audience) {
			return fmt.Sprintf("audience %q not found in pod spec volume", audience), nil
		}
	}
	return "", nil
}

// projectsToken reports whether a volume of the pod has a token for the audience.
func projectsToken(pod *corev1.Pod, audience string) bool {
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if token := source.ServiceAccountToken; token != nil && token.Audience == audience {
				return true
			}
		}
	}
	return false
}

// judgeSigningRequest allows a node to create a CertificateSigningRequest for its own
// certificates: the client certificate for the API, and the serving certificate of its kubelet.
func judgeSigningRequest(node string, a admission.Attributes) string {
	request, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest)
	if a.GetOperation() != admission.Create || a.GetSubresource() != "" || !ok {
		return fmt.Sprintf("node %q may only create certificate signing requests", node)
	}
	signer := request.Spec.SignerName
	if signer != certificatesv1.KubeAPIServerClientKubeletSignerName && signer != certificatesv1.KubeletServingSignerName {
		return fmt.Sprintf("node %q may only ask the signers %s and %s", node,
			certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeletServingSignerName)
	}
	block, _ := pem.Decode(request.Spec.Request)
	if block == nil {
		return "spec.request has no PEM data"
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return "spec.request is not a certificate request"
	}
	if node == "" || parsed.Subject.CommonName != accessnode.UserPrefix+node {
		return fmt.Sprintf("node %q may only ask for a certificate of its own name", node)
	}
	return ""
}
