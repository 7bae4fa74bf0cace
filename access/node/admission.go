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

// Admission is the plugin that holds nodes to their own objects, whatever
// authorizers gave them.
type Admission struct {
	*admission.Handler
	pods   corelisters.PodLister
	client coreclient.PodsGetter
	api    authenticator.Audiences
}

var (
	_ admission.MutationInterface   = &Admission{}
	_ admission.ValidationInterface = &Admission{}
)

// NewAdmission looks pods up in the lister, and through the client those that
// it does not have yet. The audiences are those of the API, for which every pod
// with a token has one.
func NewAdmission(pods corelisters.PodLister, client coreclient.PodsGetter, api authenticator.Audiences) *Admission {
	return &Admission{
		Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete, admission.Connect),
		pods:    pods, client: client, api: api,
	}
}

// Admit implements admission.MutationInterface. It changes nothing: a write to
// a status is judged here as it was sent, because what it says of metadata is
// dropped before validation, and a node is to hear that it may not. One that is
// out of date is left for the registry to refuse as such.
func (p *Admission) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if a.GetOperation() != admission.Update || a.GetSubresource() != "status" {
		return nil
	}
	newMeta, isNew := a.GetObject().(metav1.Object)
	oldMeta, isOld := a.GetOldObject().(metav1.Object)
	if isNew && isOld {
		// The registry compares numbers: 07 is 7, and no way around this.
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

// judgePodWrite allows a node the status and the deletion of the pods that
// were bound to it before the write.
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

// findPod reads a pod from the lister, or as it is stored.
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
