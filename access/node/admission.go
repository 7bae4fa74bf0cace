package node

import (
	"context"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Admission is the admission plugin that limits nodes to writing their own objects,
// even if an RBAC binding gives them more permissions. It corresponds to the
// NodeRestriction plugin of Kubernetes.
type Admission struct {
	*admission.Handler
	pods         corelisters.PodLister
	client       coreclient.PodsGetter
	apiAudiences authenticator.Audiences
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// NewAdmission returns the plugin. It reads pods from the lister, and with the client
// those that the lister does not have yet. A node may request a token for one of
// apiAudiences for each of its pods, and for other audiences only if a volume of the
// pod has them.
func NewAdmission(pods corelisters.PodLister, client coreclient.PodsGetter, apiAudiences authenticator.Audiences) *Admission {
	return &Admission{
		Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete, admission.Connect),
		pods:    pods, client: client, apiAudiences: apiAudiences,
	}
}

// Admit implements admission.MutationInterface. It changes nothing; it runs Validate
// early for updates of a status. The registry later drops changes of the owner references
// of a pod from such an update. Validate would then not see them, and the node would get no
// error for them. Admit ignores an update with an outdated resourceVersion: the
// registry answers it with a conflict.
func (p *Admission) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetOperation() != admission.Update || a.GetSubresource() != "status" {
		return nil
	}
	newMeta, isNew := a.GetObject().(metav1.Object)
	oldMeta, isOld := a.GetOldObject().(metav1.Object)
	if isNew && isOld {
		// Compare as numbers, like the registry. With a comparison of strings, the
		// version 07 instead of 7 would look outdated and skip the check.
		order, err := resourceversion.CompareResourceVersion(newMeta.GetResourceVersion(), oldMeta.GetResourceVersion())
		if err == nil && order != 0 {
			return nil
		}
	}
	return p.Validate(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (p *Admission) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	node, isNode := NameOf(a.GetUserInfo())
	if !isNode {
		return nil
	}
	refusal := ""
	switch a.GetResource().GroupResource() {
	case corev1.Resource("pods"):
		refusal = judgePodWrite(node, a)
	case corev1.Resource("nodes"):
		refusal = judgeNodeWrite(node, a)
	case corev1.Resource("serviceaccounts"):
		if a.GetSubresource() != "token" {
			return nil
		}
		var err error
		if refusal, err = p.judgeTokenRequest(ctx, node, a); err != nil {
			return err
		}
	case coordinationv1.Resource("leases"):
		refusal = judgeLeaseWrite(node, a)
	case certificatesv1.Resource("certificatesigningrequests"):
		refusal = judgeSigningRequest(node, a)
	}
	if node == "" && refusal != "" {
		refusal = fmt.Sprintf("user %q cannot be identified as a node", a.GetUserInfo().GetName())
	}
	if refusal != "" {
		return admission.NewForbidden(a, errors.New(refusal))
	}
	return nil
}

// judgePodWrite allows a node to update the status of a pod, and to delete it, if the
// stored pod is bound to the node.
func judgePodWrite(node string, a admission.Attributes) string {
	oldPod, _ := a.GetOldObject().(*corev1.Pod)
	switch {
	case a.GetOperation() == admission.Update && a.GetSubresource() == "status":
	case a.GetOperation() == admission.Delete && a.GetSubresource() == "":
	default:
		return fmt.Sprintf("node %q may only write the status of pods, and delete them", node)
	}
	if oldPod == nil || node == "" || oldPod.Spec.NodeName != node {
		return fmt.Sprintf("node %q can only write pods with spec.nodeName set to itself", node)
	}
	if a.GetOperation() == admission.Delete {
		return ""
	}
	newPod, ok := a.GetObject().(*corev1.Pod)
	if !ok || !sameMeta(newPod, oldPod) {
		return fmt.Sprintf("node %q may not change the metadata of a pod", node)
	}
	return ""
}

func judgeLeaseWrite(node string, a admission.Attributes) string {
	if a.GetNamespace() != corev1.NamespaceNodeLease || node == "" || a.GetName() != node {
		return fmt.Sprintf("node %q can only access the lease in namespace %q with the same name", node, corev1.NamespaceNodeLease)
	}
	newLease, ok := a.GetObject().(*coordinationv1.Lease)
	if !ok {
		return ""
	}
	var before []metav1.OwnerReference
	if oldLease, ok := a.GetOldObject().(*coordinationv1.Lease); ok {
		before = oldLease.OwnerReferences
	}
	return judgeOwners(node, newLease.OwnerReferences, before)
}

// findPod returns the pod from the lister if it has the UID, and otherwise from the
// server. It returns nil if there is no such pod.
func (p *Admission) findPod(ctx context.Context, namespace string, ref podRef) (*corev1.Pod, error) {
	pod, err := p.pods.Pods(namespace).Get(ref.name)
	if err == nil && pod.UID == ref.uid {
		return pod, nil
	}
	pod, err = p.client.Pods(namespace).Get(ctx, ref.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return pod, err
}
