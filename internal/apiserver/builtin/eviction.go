package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/protection"
)

// evictionREST serves pods/eviction. It deletes a pod if the PodDisruptionBudget of the pod
// allows that.
type evictionREST struct {
	pods    *genericregistry.Store
	status  *subresource.Status
	budgets budgets
	// keep returns an error if a pod must not be deleted.
	keep func(ctx context.Context, resource schema.GroupVersionResource, obj runtime.Object) error
}

var (
	_ rest.NamedCreater             = &evictionREST{}
	_ rest.GroupVersionKindProvider = &evictionREST{}
	_ rest.GroupVersionAcceptor     = &evictionREST{}
)

// evictionRetry limits the attempts to delete a pod that other clients write at the same time.
var evictionRetry = wait.Backoff{Steps: 20, Duration: 500 * time.Millisecond, Factor: 1, Jitter: 0.1}

// New implements rest.Storage.
func (*evictionREST) New() runtime.Object { return &policyv1.Eviction{} }

// Destroy implements rest.Storage; the store of pods is destroyed once.
func (*evictionREST) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (*evictionREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return policyv1.SchemeGroupVersion.WithKind("Eviction")
}

// AcceptsGroupVersion implements rest.GroupVersionAcceptor. Evictions in v1beta1 have the
// same fields.
func (*evictionREST) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	return gv == policyv1.SchemeGroupVersion || gv == policyv1beta1.SchemeGroupVersion
}

// Create implements rest.NamedCreater.
func (r *evictionREST) Create(
	ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	eviction, err := checkEviction(name, obj, options)
	if err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, eviction.DeepCopy()); err != nil {
			return nil, err
		}
	}
	if dryrun.IsDryRun(eviction.DeleteOptions.DryRun) {
		ctx = protection.DryRun(ctx)
	}
	pod, err := r.deleteUnguarded(ctx, name, eviction.DeleteOptions)
	if err == nil && pod != nil {
		err = r.deleteGuarded(ctx, pod, eviction.DeleteOptions)
	}
	if keep.IsRefusal(err) {
		protection.Refuse(ctx, protection.KeptObject)
	}
	if err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// checkEviction validates the eviction of a request and returns it. Its DeleteOptions are not nil
// and have the dryRun option of the request.
func checkEviction(name string, obj runtime.Object, options *metav1.CreateOptions) (*policyv1.Eviction, error) {
	eviction, ok := obj.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Eviction object: %T", obj))
	}
	if eviction.Name != name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	if eviction.DeleteOptions == nil {
		eviction.DeleteOptions = &metav1.DeleteOptions{}
	}
	wanted := eviction.DeleteOptions
	if ignore := wanted.IgnoreStoreReadErrorWithClusterBreakingPotential; ignore != nil && *ignore {
		return nil, apierrors.NewInvalid(policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(), name, field.ErrorList{field.Invalid(
			field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"), true,
			"can not be set for pod eviction, try after removing the option")})
	}
	switch {
	case len(wanted.DryRun) == 0:
		wanted.DryRun = options.DryRun
	case len(options.DryRun) > 0 && !slices.Equal(options.DryRun, wanted.DryRun):
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Non-matching dry-run options in request and content: %v and %v",
			options.DryRun, wanted.DryRun))
	}
	return eviction, nil
}

// deleteUnguarded deletes a pod that budgets do not count: it is pending, has ended or is being
// deleted. If the pod is running, it returns the pod and does not delete it.
func (r *evictionREST) deleteUnguarded(ctx context.Context, name string, options *metav1.DeleteOptions) (*corev1.Pod, error) {
	pinned := wantedVersion(options) != ""
	mayRetry := func(err error) bool { return !pinned && apierrors.IsConflict(err) && !keep.IsRefusal(err) }
	var guarded *corev1.Pod
	err := retry.OnError(evictionRetry, mayRetry, func() error {
		obj, err := r.pods.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return err
		}
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return apierrors.NewInternalError(fmt.Errorf("unexpected object %T", obj))
		}
		// The condition of a pod that must be kept does not say that it is evicted, and no budget is charged for it.
		if err := r.checkKept(ctx, pod); err != nil {
			return err
		}
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil
		if !ended && pod.Status.Phase != corev1.PodPending {
			guarded = pod
			return nil
		}
		if !ended && !pinned {
			// The pod may become ready at this moment, and then a budget guards it.
			return r.delete(ctx, name, pinnedTo(pod, options))
		}
		return r.delete(ctx, name, options)
	})
	return guarded, err
}

// deleteGuarded deletes a running pod if its budget allows that.
func (r *evictionREST) deleteGuarded(ctx context.Context, pod *corev1.Pod, options *metav1.DeleteOptions) error {
	found, err := r.budgets.charge(ctx, pod, dryrun.IsDryRun(options.DryRun))
	if err != nil {
		return err
	}
	if !found.whileUnready {
		return r.delete(ctx, pod.Name, options)
	}
	err = r.delete(ctx, pod.Name, pinnedTo(pod, options))
	if apierrors.IsConflict(err) && !keep.IsRefusal(err) && wantedVersion(options) == "" {
		// The pod changed and may be ready now. The client tries again.
		return tooManyEvictions(found.name)
	}
	return err
}

// delete sets the condition DisruptionTarget of a pod and deletes the pod.
func (r *evictionREST) delete(ctx context.Context, name string, options *metav1.DeleteOptions) error {
	if !dryrun.IsDryRun(options.DryRun) {
		marked, err := r.mark(ctx, name, options.Preconditions)
		if err != nil {
			return err
		}
		if wantedVersion(options) != "" {
			options = pinnedTo(marked, options)
		}
	}
	_, _, err := r.pods.Delete(ctx, name, r.checkKept, options)
	return err
}

// checkKept returns a refusal if a pod must be kept.
func (r *evictionREST) checkKept(ctx context.Context, pod runtime.Object) error {
	return r.keep(ctx, corev1.SchemeGroupVersion.WithResource("pods"), pod)
}

// mark sets the condition of a pod that is to be evicted.
func (r *evictionREST) mark(ctx context.Context, name string, conditions *metav1.Preconditions) (*corev1.Pod, error) {
	target := func(_ context.Context, _, current runtime.Object) (runtime.Object, error) {
		pod, ok := current.DeepCopyObject().(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", current)
		}
		if err := checkPreconditions(pod, conditions); err != nil {
			return nil, err
		}
		setDisrupted(pod)
		return pod, nil
	}
	updated, _, err := r.status.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, target),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	pod, ok := updated.(*corev1.Pod)
	if !ok {
		return nil, apierrors.NewInternalError(errors.New("the updated object is not a pod"))
	}
	return pod, nil
}

func checkPreconditions(pod *corev1.Pod, conditions *metav1.Preconditions) error {
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(corev1.Resource("Pod"), pod.Name, fmt.Errorf(format, args...))
	}
	switch {
	case conditions == nil:
	case conditions.UID != nil && *conditions.UID != "" && *conditions.UID != pod.UID:
		return conflict("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *conditions.UID, pod.UID)
	case conditions.ResourceVersion != nil && *conditions.ResourceVersion != "" && *conditions.ResourceVersion != pod.ResourceVersion:
		return conflict("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *conditions.ResourceVersion, pod.ResourceVersion)
	}
	return nil
}

func setDisrupted(pod *corev1.Pod) {
	condition := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
	}
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
		return
	}
	if before := pod.Status.Conditions[at]; before.Status == condition.Status {
		condition.LastTransitionTime = before.LastTransitionTime
	}
	pod.Status.Conditions[at] = condition
}

// wantedVersion returns the resourceVersion of the preconditions, or "".
func wantedVersion(options *metav1.DeleteOptions) string {
	if options.Preconditions == nil || options.Preconditions.ResourceVersion == nil {
		return ""
	}
	return *options.Preconditions.ResourceVersion
}

// pinnedTo returns options that delete the pod only if it has not changed.
func pinnedTo(pod *corev1.Pod, options *metav1.DeleteOptions) *metav1.DeleteOptions {
	pinned := options.DeepCopy()
	if pinned.Preconditions == nil {
		pinned.Preconditions = &metav1.Preconditions{}
	}
	pinned.Preconditions.ResourceVersion = &pod.ResourceVersion
	return pinned
}
