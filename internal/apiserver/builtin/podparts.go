package builtin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/apiserver/update"
	"holdfast.dev/holdfast/internal/native/rules"
)

// podPart is a part of the spec of a pod that only a subresource can change.
type podPart struct {
	// take copies the part to a pod. It changes no other field.
	take func(to, from *corev1.Pod)
	// validate validates an update of the part.
	validate func(newPod, oldPod *corev1.Pod) field.ErrorList
	// fields are the fields of the part.
	fields []*fieldpath.SetMatcher
}

// ephemeralContainers is the part that pods/ephemeralcontainers writes.
func ephemeralContainers() podPart {
	return podPart{
		take:     func(to, from *corev1.Pod) { to.Spec.EphemeralContainers = from.Spec.EphemeralContainers },
		validate: rules.ValidateEphemeralContainers,
		fields:   []*fieldpath.SetMatcher{fieldpath.MakePrefixMatcherOrDie("spec", "ephemeralContainers")},
	}
}

// podResources is the part that pods/resize writes.
func podResources() podPart {
	part := podPart{take: takeResources, validate: rules.ValidateResize}
	for _, list := range []string{"containers", "initContainers"} {
		for _, name := range []string{"resources", "resizePolicy"} {
			part.fields = append(part.fields, fieldpath.MakePrefixMatcherOrDie("spec", list, fieldpath.MatchAnyPathElement(), name))
		}
	}
	return part
}

// takeResources takes the resources of containers and of the pod. If the containers are not the same in the same order, it
// takes more, which validation then refuses.
func takeResources(to, from *corev1.Pod) {
	if len(to.Spec.Containers) != len(from.Spec.Containers) || len(to.Spec.InitContainers) != len(from.Spec.InitContainers) {
		to.Spec = from.Spec
		return
	}
	to.Spec.Resources = from.Spec.Resources
	to.Spec.Containers = withResources(to.Spec.Containers, from.Spec.Containers)
	to.Spec.InitContainers = withResources(to.Spec.InitContainers, from.Spec.InitContainers)
}

// withResources returns the containers with the resources of others, or the others if they have other names.
func withResources(containers, others []corev1.Container) []corev1.Container {
	merged := make([]corev1.Container, len(containers))
	for i := range containers {
		if containers[i].Name != others[i].Name {
			return others
		}
		merged[i] = containers[i]
		merged[i].Resources, merged[i].ResizePolicy = others[i].Resources, others[i].ResizePolicy
	}
	return merged
}

// podPartREST serves a subresource that writes a part of pods.
type podPartREST struct {
	*subresource.Part
	part podPart
}

var (
	_ rest.Patcher                   = &podPartREST{}
	_ rest.ResetFieldsFilterStrategy = &podPartREST{}
	_ rest.TableConvertor            = &podPartREST{}
)

func newPodPart(pods *genericregistry.Store, s strategy, part podPart) *podPartREST {
	return &podPartREST{Part: subresource.NewPart(pods, podPartStrategy{s, part}), part: part}
}

// GetResetFieldsFilter implements rest.ResetFieldsFilterStrategy: a manager does not become the
// owner of fields outside of the part.
func (r *podPartREST) GetResetFieldsFilter() map[fieldpath.APIVersion]fieldpath.Filter {
	return map[fieldpath.APIVersion]fieldpath.Filter{"v1": fieldpath.NewIncludeMatcherFilter(r.part.fields...)}
}

// podPartStrategy lets a write change a part of a pod and nothing else.
type podPartStrategy struct {
	strategy
	part podPart
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s podPartStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	newPod, oldPod := newObj.(*corev1.Pod), oldObj.(*corev1.Pod)
	merged := oldPod.DeepCopy()
	s.part.take(merged, newPod)
	newPod.Spec, newPod.Status = merged.Spec, merged.Status
	metav1.ResetObjectMetaForStatus(newPod, oldPod)
	if !sameContent(newPod, oldPod) {
		newPod.Generation = oldPod.Generation + 1
	}
	s.ownership.Prepare(ctx, s.owned(newPod, oldPod))
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s podPartStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	validate := func(_ context.Context, newObj, oldObj runtime.Object) field.ErrorList {
		return s.part.validate(newObj.(*corev1.Pod), oldObj.(*corev1.Pod))
	}
	return update.Judge(ctx, newObj, oldObj, validate, s.checkPolicies, s.checkOwnership)
}
