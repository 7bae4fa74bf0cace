package scheduling

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	nodeinformers "k8s.io/client-go/informers/node/v1"
	nodeclient "k8s.io/client-go/kubernetes/typed/node/v1"
	nodelisters "k8s.io/client-go/listers/node/v1"

	"holdfast.dev/holdfast/internal/admission/informed"
)

// RuntimeClass is the admission plugin that applies the RuntimeClass of a new pod: the
// overhead of the runtime, and the nodes that have it.
type RuntimeClass struct {
	informed.Handler
	classes nodelisters.RuntimeClassLister
	client  nodeclient.RuntimeClassesGetter
}

var (
	_ admission.MutationInterface   = &RuntimeClass{}
	_ admission.ValidationInterface = &RuntimeClass{}
)

// NewRuntimeClass returns the plugin.
func NewRuntimeClass(classes nodeinformers.RuntimeClassInformer, client nodeclient.RuntimeClassesGetter) *RuntimeClass {
	return &RuntimeClass{
		Handler: informed.NewHandler(classes.Informer().HasSynced, admission.Create),
		classes: classes.Lister(), client: client,
	}
}

// Admit implements admission.MutationInterface.
func (p *RuntimeClass) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	class, err := p.classOf(ctx, a, pod)
	if err != nil || class == nil {
		return err
	}
	if class.Overhead != nil {
		if pod.Spec.Overhead != nil && !apiequality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return admission.NewForbidden(a, errOtherOverhead)
		}
		pod.Spec.Overhead = class.Overhead.PodFixed.DeepCopy()
	}
	if class.Scheduling == nil {
		return nil
	}
	if err := selectNodes(a, pod, class.Scheduling.NodeSelector); err != nil {
		return err
	}
	pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, class.Scheduling.DeepCopy().Tolerations)
	return nil
}

// selectNodes adds the node selector of a class to that of a pod.
func selectNodes(a admission.Attributes, pod *corev1.Pod, selector map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if own, ok := pod.Spec.NodeSelector[key]; ok && own != selector[key] {
			return admission.NewForbidden(a, fmt.Errorf(
				"conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, selector[key], key, own))
		}
	}
	if pod.Spec.NodeSelector == nil && len(selector) > 0 {
		pod.Spec.NodeSelector = map[string]string{}
	}
	maps.Copy(pod.Spec.NodeSelector, selector)
	return nil
}

var (
	errOtherOverhead = errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	errOverhead      = errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
)

// Validate implements admission.ValidationInterface. The overhead of a pod counts for
// quotas and schedulers, so only a RuntimeClass determines it.
func (p *RuntimeClass) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	class, err := p.classOf(ctx, a, pod)
	if err != nil {
		return err
	}
	if class == nil || class.Overhead == nil {
		if pod.Spec.Overhead != nil {
			return admission.NewForbidden(a, errOverhead)
		}
		return nil
	}
	if !apiequality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
		return admission.NewForbidden(a, errOtherOverhead)
	}
	return nil
}

// classOf returns the class that a pod names, or nil if it names none.
func (p *RuntimeClass) classOf(ctx context.Context, a admission.Attributes, pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	if err := p.Wait(a); err != nil {
		return nil, err
	}
	name := *pod.Spec.RuntimeClassName
	class, err := p.classes.Get(name)
	if apierrors.IsNotFound(err) {
		class, err = p.client.RuntimeClasses().Get(ctx, name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, admission.NewForbidden(a, fmt.Errorf("pod rejected: RuntimeClass %q not found", name))
	case err != nil:
		return nil, fmt.Errorf("read RuntimeClass %s: %w", name, err)
	}
	return class, nil
}
