package builtin

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/native"
)

// bindingREST serves pods/binding, the only way to assign a pod to a node.
type bindingREST struct {
	pods *genericregistry.Store
	kind native.Kind
	// policies has the rules of ImmutabilityPolicies.
	policies *policies.Rules
}

var (
	_ rest.NamedCreater                   = &bindingREST{}
	_ rest.SubresourceObjectMetaPreserver = &bindingREST{}
)

// New implements rest.Storage.
func (*bindingREST) New() runtime.Object { return &corev1.Binding{} }

// Destroy implements rest.Storage; the store of pods is destroyed once.
func (*bindingREST) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate implements
// rest.SubresourceObjectMetaPreserver: the UID in a binding is the pod's.
func (*bindingREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create implements rest.NamedCreater.
func (r *bindingREST) Create(
	ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	binding, ok := obj.(*corev1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected a Binding, got %T", obj))
	}
	if binding.Name != "" && binding.Name != name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(binding); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Binding").GroupKind(), name, errs)
	}
	if validate != nil {
		if err := validate(ctx, binding.DeepCopy()); err != nil {
			return nil, err
		}
	}
	key, err := r.pods.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	bind := func(current runtime.Object) (runtime.Object, error) {
		old := current.DeepCopyObject()
		bound, err := bindPod(ctx, current, binding)
		if err != nil {
			return nil, err
		}
		return bound, r.checkPolicies(ctx, bound, old)
	}
	err = r.pods.Storage.GuaranteedUpdate(ctx, key, &corev1.Pod{}, false, nil,
		storage.Update(bind), dryrun.IsDryRun(options.DryRun), nil)
	if err != nil {
		return nil, storage.Error(err, corev1.Resource("pods"), name)
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: 201}, nil
}

// checkPolicies returns an error if a policy forbids the change of a pod: its node, its labels or its annotations.
func (r *bindingREST) checkPolicies(ctx context.Context, bound, old runtime.Object) error {
	judged := policies.BuiltIn{Resource: r.kind.GroupResource(), Kind: r.kind.GroupVersionKind(), New: bound, Old: old}
	if err := r.policies.JudgeBuiltIn(ctx, judged); err != nil {
		return err
	}
	return r.policies.CheckSelection(ctx, policies.Relabelled{
		Resource: r.kind.GroupResource(), Kind: r.kind.GroupVersionKind().GroupKind(), New: objectMeta(bound), Old: objectMeta(old),
	})
}

func bindPod(ctx context.Context, current runtime.Object, binding *corev1.Binding) (runtime.Object, error) {
	pod, ok := current.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("unexpected object %T", current)
	}
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), pod.Name, fmt.Errorf(format, args...))
	}
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return nil, conflict("UID in precondition: %v, UID in object meta: %v", binding.UID, pod.UID)
	case pod.DeletionTimestamp != nil:
		return nil, conflict("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "" && disclosure.Allowed(ctx):
		return nil, conflict("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case pod.Spec.NodeName != "":
		return nil, conflict("pod %s is already assigned to a node", pod.Name)
	case len(pod.Spec.SchedulingGates) > 0:
		return nil, conflict("pod %s has non-empty .spec.schedulingGates", pod.Name)
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Annotations = merged(pod.Annotations, binding.Annotations)
	pod.Labels = merged(pod.Labels, binding.Labels)
	setScheduled(pod)
	return pod, nil
}

// merged adds entries to a map, which may be nil, and replaces those of the same key.
func merged(entries, added map[string]string) map[string]string {
	if entries == nil && len(added) > 0 {
		entries = make(map[string]string, len(added))
	}
	maps.Copy(entries, added)
	return entries
}

func setScheduled(pod *corev1.Pod) {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodScheduled {
			*condition = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
}

func validateBinding(binding *corev1.Binding) field.ErrorList {
	var errs field.ErrorList
	if kind := binding.Target.Kind; kind != "" && kind != "Node" {
		errs = append(errs, field.NotSupported(field.NewPath("target", "kind"), kind, []string{"Node", "<empty>"}))
	}
	at := field.NewPath("target", "name")
	if binding.Target.Name == "" {
		return append(errs, field.Required(at, ""))
	}
	for _, wrong := range apivalidation.NameIsDNSSubdomain(binding.Target.Name, false) {
		errs = append(errs, field.Invalid(at, binding.Target.Name, wrong))
	}
	return errs
}
