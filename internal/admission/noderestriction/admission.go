package noderestriction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	accessnode "holdfast.dev/holdfast/internal/access/node"
)

// Plugin is the admission plugin that limits nodes to writing their own objects,
// even if an RBAC binding gives them more permissions. It corresponds to the
// NodeRestriction plugin of Kubernetes.
type Plugin struct {
	*admission.Handler
	Config
}

// Config configures the plugin. All fields except Relations are required.
type Config struct {
	// Pods has the pods of the server, possibly with a delay. Client reads those that it
	// does not have yet.
	Pods   corelisters.PodLister
	Client interface {
		coreclient.PodsGetter
		coreclient.NodesGetter
	}
	// APIAudiences are the audiences of the API. A node may request a token for one of them
	// for each of its pods, and for other audiences only if a volume of the pod, or the
	// driver of one, needs them.
	APIAudiences authenticator.Audiences
	// Relations finds the drivers of volumes.
	Relations *accessnode.Relations
}

var (
	_ admission.MutationInterface   = &Plugin{}
	_ admission.ValidationInterface = &Plugin{}
)

// New returns the plugin.
func New(config Config) *Plugin {
	return &Plugin{
		Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete, admission.Connect),
		Config:  config,
	}
}

// Admit implements admission.MutationInterface. It changes nothing; it runs Validate
// early for updates of a status. The registry later drops changes of the owner references
// of a pod from such an update. Validate would then not see them, and the node would get no
// error for them. Admit ignores an update with an outdated resourceVersion: the
// registry answers it with a conflict.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
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
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	node, isNode := accessnode.NameOf(a.GetUserInfo())
	if !isNode {
		return nil
	}
	refusal, err := p.judge(ctx, node, a)
	if err != nil {
		return err
	}
	if node == "" && refusal != "" {
		refusal = fmt.Sprintf("user %q cannot be identified as a node", a.GetUserInfo().GetName())
	}
	if refusal != "" {
		return admission.NewForbidden(a, errors.New(refusal))
	}
	return nil
}

// judge returns the reason why the node may not make the write, or "" if it may.
func (p *Plugin) judge(ctx context.Context, node string, a admission.Attributes) (string, error) {
	switch a.GetResource().GroupResource() {
	case corev1.Resource("pods"):
		return p.judgePodWrite(ctx, node, a)
	case corev1.Resource("nodes"):
		return judgeNodeWrite(node, a), nil
	case corev1.Resource("persistentvolumeclaims"):
		return judgeClaimWrite(node, a), nil
	case corev1.Resource("serviceaccounts"):
		if a.GetSubresource() == "token" {
			return p.judgeTokenRequest(ctx, node, a)
		}
	case coordinationv1.Resource("leases"):
		return judgeLeaseWrite(node, a), nil
	case storagev1.Resource("csinodes"):
		return judgeCSINodeWrite(node, a), nil
	case resourcev1.Resource("resourceslices"):
		return judgeSliceWrite(node, a), nil
	case certificatesv1.Resource("certificatesigningrequests"):
		return judgeSigningRequest(node, a), nil
	}
	return "", nil
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
	// A kubelet makes its Node the owner of its Lease, so that both are deleted together.
	owners := slices.DeleteFunc(slices.Clone(newLease.OwnerReferences), func(owner metav1.OwnerReference) bool {
		return owner.APIVersion == "v1" && owner.Kind == "Node" && owner.Name == node
	})
	if len(owners) == 0 {
		return ""
	}
	return judgeOwners(node, newLease.OwnerReferences, before)
}

// findPod returns the pod from the lister if it has the UID, and otherwise from the
// server. It returns nil if there is no such pod.
func (p *Plugin) findPod(ctx context.Context, namespace string, ref podRef) (*corev1.Pod, error) {
	pod, err := p.Pods.Pods(namespace).Get(ref.name)
	if err == nil && pod.UID == ref.uid {
		return pod, nil
	}
	pod, err = p.Client.Pods(namespace).Get(ctx, ref.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return pod, err
}
