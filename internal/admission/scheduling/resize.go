package scheduling

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"

	"holdfast.dev/holdfast/internal/admission/informed"
)

// Resize is the admission plugin PodResizeValidator. It rejects a resize of a pod that does not
// fit on the node of the pod.
type Resize struct {
	informed.Handler
	nodes nodes
}

var _ admission.ValidationInterface = &Resize{}

// NewResize returns the plugin.
func NewResize(informer coreinformers.NodeInformer, client coreclient.NodesGetter) *Resize {
	return &Resize{Handler: informed.NewHandler(informer.Informer().HasSynced, admission.Update), nodes: newNodes(informer, client)}
}

// Validate implements admission.ValidationInterface.
func (p *Resize) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "resize" {
		return nil
	}
	pod, isNew := a.GetObject().(*corev1.Pod)
	oldPod, isOld := a.GetOldObject().(*corev1.Pod)
	// The generation counts changes of the spec.
	if !isNew || !isOld || pod.Spec.NodeName == "" || pod.Generation == oldPod.Generation {
		return nil
	}
	if err := p.Wait(a); err != nil {
		return err
	}
	node, err := p.nodes.get(ctx, pod.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		return admission.NewForbidden(a, fmt.Errorf("node %q not found", pod.Spec.NodeName))
	}
	if err != nil {
		return fmt.Errorf("read node %s: %w", pod.Spec.NodeName, err)
	}
	if system := node.Labels[corev1.LabelOSStable]; system != "" && system != "linux" {
		return resizeRefusal(a, "UnsupportedPlatform",
			fmt.Sprintf("pod resize is only supported on linux nodes, node %q is %q", node.Name, system))
	}
	if missing := missingResources(pod, node.Status.Allocatable); missing != "" {
		return resizeRefusal(a, "NodeCapacity", "node didn't have enough allocatable resources: "+missing)
	}
	return nil
}

// missingResources names the requests of a pod that are larger than what a node has, or "".
func missingResources(pod *corev1.Pod, allocatable corev1.ResourceList) string {
	var missing []string
	requests := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})
	if requests.Cpu().Cmp(*allocatable.Cpu()) > 0 {
		missing = append(missing, fmt.Sprintf("cpu, requested: %d, allocatable: %d", requests.Cpu().MilliValue(), allocatable.Cpu().MilliValue()))
	}
	if requests.Memory().Cmp(*allocatable.Memory()) > 0 {
		missing = append(missing, fmt.Sprintf("memory, requested: %d, allocatable: %d", requests.Memory().Value(), allocatable.Memory().Value()))
	}
	return strings.Join(missing, "; ")
}

// resizeRefusal returns the error 403 with the cause that clients look for.
func resizeRefusal(a admission.Attributes, cause metav1.CauseType, message string) error {
	err := admission.NewForbidden(a, errors.New(message))
	var status *apierrors.StatusError
	if errors.As(err, &status) && status.ErrStatus.Details != nil {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	}
	return err
}
