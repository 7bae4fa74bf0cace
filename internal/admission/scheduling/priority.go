package scheduling

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1"
	schedulingclient "k8s.io/client-go/kubernetes/typed/scheduling/v1"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1"

	"holdfast.dev/holdfast/internal/admission/informed"
)

// Priority is the admission plugin that sets the priority of a new pod from its
// PriorityClass, and allows one default PriorityClass only.
type Priority struct {
	informed.Handler
	classes schedulinglisters.PriorityClassLister
	client  schedulingclient.PriorityClassesGetter
}

var (
	_ admission.MutationInterface   = &Priority{}
	_ admission.ValidationInterface = &Priority{}
)

// NewPriority returns the plugin.
func NewPriority(classes schedulinginformers.PriorityClassInformer, client schedulingclient.PriorityClassesGetter) *Priority {
	return &Priority{
		Handler: informed.NewHandler(classes.Informer().HasSynced, admission.Create, admission.Update),
		classes: classes.Lister(), client: client,
	}
}

// Admit implements admission.MutationInterface.
func (p *Priority) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	if a.GetOperation() == admission.Update {
		keepPriority(pod, a.GetOldObject())
		return nil
	}
	class, err := p.classOf(ctx, a, pod)
	if err != nil {
		return err
	}
	return setPriority(a, pod, class)
}

// keepPriority sets the priority of the stored pod, if the client left it out.
func keepPriority(pod *corev1.Pod, stored any) {
	oldPod, ok := stored.(*corev1.Pod)
	if !ok {
		return
	}
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = oldPod.Spec.Priority
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = oldPod.Spec.PreemptionPolicy
	}
}

// setPriority sets the priority and the preemption policy of a class. It rejects a pod that
// has others: only PriorityClasses determine the priority, so that RBAC and quotas apply.
func setPriority(a admission.Attributes, pod *corev1.Pod, class *schedulingv1.PriorityClass) error {
	priority := class.Value
	if sent := pod.Spec.Priority; sent != nil && *sent != priority {
		return admission.NewForbidden(a, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; "+
			"priority admission controller computed %d from the given PriorityClass name", *sent, priority))
	}
	pod.Spec.PriorityClassName, pod.Spec.Priority = class.Name, &priority
	if class.PreemptionPolicy == nil {
		return nil
	}
	policy := *class.PreemptionPolicy
	if sent := pod.Spec.PreemptionPolicy; sent != nil && *sent != policy {
		return admission.NewForbidden(a, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; "+
			"priority admission controller computed %s from the given PriorityClass name", *sent, policy))
	}
	pod.Spec.PreemptionPolicy = &policy
	return nil
}

// classOf returns the class that a pod names, or the default class.
func (p *Priority) classOf(ctx context.Context, a admission.Attributes, pod *corev1.Pod) (*schedulingv1.PriorityClass, error) {
	if err := p.Wait(a); err != nil {
		return nil, err
	}
	name := pod.Spec.PriorityClassName
	if name == "" {
		return p.defaultClass()
	}
	class, err := p.classes.Get(name)
	if apierrors.IsNotFound(err) {
		class, err = p.client.PriorityClasses().Get(ctx, name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, admission.NewForbidden(a, fmt.Errorf("no PriorityClass with name %v was found", name))
	case err != nil:
		return nil, fmt.Errorf("failed to get PriorityClass with name %s: %w", name, err)
	}
	return class, nil
}

// defaultClass returns the class of pods that name none. If there is no default class, it
// returns a class without a name, with priority 0.
func (p *Priority) defaultClass() (*schedulingv1.PriorityClass, error) {
	classes, err := p.classes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("failed to get default priority class: %w", err)
	}
	if class := lowestDefault(classes); class != nil {
		return class, nil
	}
	policy := corev1.PreemptLowerPriority
	return &schedulingv1.PriorityClass{PreemptionPolicy: &policy}, nil
}

// lowestDefault returns the default class, or nil. There may be several if two clients set
// one at the same time; Kubernetes takes the one with the lowest priority.
func lowestDefault(classes []*schedulingv1.PriorityClass) *schedulingv1.PriorityClass {
	var lowest *schedulingv1.PriorityClass
	for _, class := range classes {
		if class.GlobalDefault && (lowest == nil || class.Value < lowest.Value) {
			lowest = class
		}
	}
	return lowest
}

// Validate implements admission.ValidationInterface. It rejects a second default class.
func (p *Priority) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource().GroupResource() != schedulingv1.Resource("priorityclasses") || a.GetSubresource() != "" {
		return nil
	}
	class, ok := a.GetObject().(*schedulingv1.PriorityClass)
	if !ok || !class.GlobalDefault {
		return nil
	}
	stored, err := p.client.PriorityClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("failed to get default priority class: %w", err)
	}
	for i := range stored.Items {
		if other := &stored.Items[i]; other.GlobalDefault && (other.Name != class.Name || a.GetOperation() == admission.Create) {
			return admission.NewForbidden(a, fmt.Errorf("PriorityClass %v is already marked as default. Only one default can exist", other.Name))
		}
	}
	return nil
}
