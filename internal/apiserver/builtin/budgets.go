package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	pdbhelper "k8s.io/component-helpers/apps/poddisruptionbudget"

	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// maxDisrupted is how many evicted pods a budget records. The disruption controller removes
// the records.
const maxDisrupted = 2000

// budgets charges evictions to the PodDisruptionBudgets of pods.
type budgets struct {
	stores map[schema.GroupResource]*genericregistry.Store
}

// budgetsResource is the resource of PodDisruptionBudgets.
var budgetsResource = schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"}

// charged is the budget of an evicted pod. The name is empty if the pod has none.
type charged struct {
	name string
	// whileUnready is true if the pod may be evicted because it is not ready. Such an
	// eviction is not charged, and not allowed once the pod is ready.
	whileUnready bool
}

// charge charges the eviction of a running pod to its budget. It returns an error if the
// budget does not allow the eviction now.
func (b budgets) charge(ctx context.Context, pod *corev1.Pod, dryRun bool) (charged, error) {
	budget, err := b.of(ctx, pod)
	if err != nil || budget == nil {
		return charged{}, err
	}
	if !isReady(pod) && allowsUnready(budget) {
		return charged{name: budget.Name, whileUnready: true}, nil
	}
	store := b.stores[budgetsResource]
	key, err := store.KeyFunc(ctx, budget.Name)
	if err != nil {
		return charged{}, err
	}
	decrement := storage.Update(func(current runtime.Object) (runtime.Object, error) {
		stored, ok := current.(*policyv1.PodDisruptionBudget)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", current)
		}
		return stored, disrupt(stored, pod.Name)
	})
	err = store.Storage.GuaranteedUpdate(ctx, key, &policyv1.PodDisruptionBudget{}, false, nil, decrement, dryRun, nil)
	return charged{name: budget.Name}, storage.Error(err, budgetsResource, budget.Name)
}

// of returns the budget that selects a pod, or nil if there is none.
func (b budgets) of(ctx context.Context, pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	obj, err := b.stores[budgetsResource].List(ctx, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	list, ok := obj.(*policyv1.PodDisruptionBudgetList)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("unexpected list %T", obj))
	}
	var found *policyv1.PodDisruptionBudget
	for i := range list.Items {
		// A selector that is not valid selects no pod.
		selector, err := metav1.LabelSelectorAsSelector(list.Items[i].Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if found != nil {
			return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
				Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
			}}
		}
		found = &list.Items[i]
	}
	return found, nil
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// allowsUnready reports whether a budget allows to evict pods that are not ready: always with the
// policy AlwaysAllow, and otherwise while enough pods are healthy.
func allowsUnready(budget *policyv1.PodDisruptionBudget) bool {
	if policy := budget.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return budget.Status.DesiredHealthy > 0 && budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy
}

// disrupt takes one disruption from a budget and records the pod, so that the disruption
// controller no longer counts it as healthy.
func disrupt(budget *policyv1.PodDisruptionBudget, pod string) error {
	status := &budget.Status
	forbidden := func(why string) error {
		resource := schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}
		return apierrors.NewForbidden(resource, budget.Name, errors.New(why))
	}
	switch {
	case status.ObservedGeneration < budget.Generation:
		return tooManyEvictions(budget.Name)
	case status.DisruptionsAllowed < 0:
		return forbidden("pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisrupted:
		return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return overBudget(refusalOf(budget), 0)
	}
	status.DisruptionsAllowed--
	if status.DisruptionsAllowed == 0 {
		pdbhelper.UpdateDisruptionAllowedCondition(budget)
	}
	if status.DisruptedPods == nil {
		status.DisruptedPods = map[string]metav1.Time{}
	}
	status.DisruptedPods[pod] = metav1.Now()
	return nil
}

// refusalOf says why a budget allows no disruption.
func refusalOf(budget *policyv1.PodDisruptionBudget) string {
	condition := apimeta.FindStatusCondition(budget.Status.Conditions, policyv1.DisruptionAllowedCondition)
	explained := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	prefix := fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name)
	switch {
	case explained && condition.Reason == policyv1.SyncFailedReason:
		return prefix + " because it failed sync: " + condition.Message
	case budget.Status.CurrentHealthy <= budget.Status.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			budget.Name, budget.Status.DesiredHealthy, budget.Status.CurrentHealthy)
	case explained:
		return fmt.Sprintf("%s (%s): %s", prefix, condition.Reason, condition.Message)
	}
	return prefix
}

// tooManyEvictions is the answer while the status of a budget is not up to date. The client
// tries again after ten seconds.
func tooManyEvictions(budget string) error {
	return overBudget(fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget), 10)
}

// overBudget returns the error 429 with the cause that kubectl drain looks for.
func overBudget(cause string, retryAfter int) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
		metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}
