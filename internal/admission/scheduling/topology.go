package scheduling

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apiserver/pkg/admission"
	coreinformers "k8s.io/client-go/informers/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/admission/informed"
)

// Topology is the admission plugin PodTopologyLabels. It copies the zone and the region of
// a node to the labels of the pods that are bound to it, where a downwardAPI volume can
// read them.
type Topology struct {
	informed.Handler
	nodes nodes
}

var _ admission.MutationInterface = &Topology{}

// NewTopology returns the plugin.
func NewTopology(informer coreinformers.NodeInformer, client coreclient.NodesGetter) *Topology {
	return &Topology{Handler: informed.NewHandler(informer.Informer().HasSynced, admission.Create), nodes: newNodes(informer, client)}
}

// Admit implements admission.MutationInterface. The registry copies the labels of a Binding
// to its pod.
func (p *Topology) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	node, labels := target(a)
	if len(apivalidation.NameIsDNSSubdomain(node, false)) > 0 {
		return nil // validation refuses the name, or it is empty
	}
	if err := p.Wait(a); err != nil {
		return err
	}
	found, err := p.nodes.get(ctx, node)
	if apierrors.IsNotFound(err) {
		// A pod may be bound to a node that does not exist yet.
		return nil
	}
	if err != nil {
		return fmt.Errorf("read node %s: %w", node, err)
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
		value, ok := found.Labels[key]
		if !ok {
			continue
		}
		if *labels == nil {
			*labels = map[string]string{}
		}
		(*labels)[key] = value
	}
	return nil
}

// target returns the node that a request binds a pod to, and the labels for the pod. The
// name is empty if the request binds no pod.
func target(a admission.Attributes) (node string, labels *map[string]string) {
	if pod := podOf(a); pod != nil {
		return pod.Spec.NodeName, &pod.Labels
	}
	if a.GetResource().GroupResource() != corev1.Resource("pods") || a.GetSubresource() != "binding" {
		return "", nil
	}
	// Clients may leave the kind out; the registry rejects kinds other than Node.
	binding, ok := a.GetObject().(*corev1.Binding)
	if !ok || binding.Target.Kind != "Node" && binding.Target.Kind != "" {
		return "", nil
	}
	return binding.Target.Name, &binding.Labels
}
