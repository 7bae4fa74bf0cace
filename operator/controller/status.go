package controller

import (
	"context"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/plan"
)

// store keeps how far the run is, if that is news.
func (e *execution) store(ctx context.Context, status api.PlanStatus) error {
	return e.storeAll(ctx, status, e.instance.Status.Objects)
}

func (e *execution) storeAll(ctx context.Context, status api.PlanStatus, objects []api.AppliedObject) error {
	e.status = status
	changed := e.instance.DeepCopy()
	changed.Status.Objects = objects
	if e.version != nil {
		changed.Status.PlanStatus = plan.AllStatuses(e.version.Spec.Plans, changed.Status.PlanStatus)
	}
	if changed.Status.PlanStatus == nil {
		changed.Status.PlanStatus = map[string]api.PlanStatus{}
	}
	changed.Status.PlanStatus[status.Name] = status
	meta.SetStatusCondition(&changed.Status.Conditions, ready(status, changed.Generation))
	if apiequality.Semantic.DeepEqual(changed.Status, e.instance.Status) {
		return nil
	}
	stored, err := e.write(ctx, changed, "status")
	if err != nil {
		return err
	}
	e.instance = stored
	return nil
}

// ready is the condition that says how the last run went.
func ready(status api.PlanStatus, generation int64) metav1.Condition {
	condition := metav1.Condition{
		Type: api.ReadyCondition, Status: metav1.ConditionFalse, Reason: string(status.Status),
		Message: fmt.Sprintf("plan %s", status.Name), ObservedGeneration: generation,
	}
	if status.Status == api.Complete {
		condition.Status = metav1.ConditionTrue
	}
	if status.Message != "" {
		condition.Message += ": " + status.Message
	}
	return condition
}

// record writes down what is about to be applied, before it is: what is applied
// and not written down would never be found again. An Instance that has more to
// do than to let its objects be collected gets the finalizer.
func (e *execution) record(ctx context.Context, objects []*unstructured.Unstructured) error {
	known := slices.Clone(e.instance.Status.Objects)
	finalize := hasCleanup(e.version)
	for _, object := range objects {
		finalize = finalize || object.GetNamespace() == ""
		known = noted(known, object, e.instance.Spec.PlanExecution.UID)
	}
	if finalize && e.instance.DeletionTimestamp == nil && !slices.Contains(e.instance.Finalizers, api.CleanupFinalizer) {
		e.instance.Finalizers = append(e.instance.Finalizers, api.CleanupFinalizer)
		stored, err := e.write(ctx, e.instance)
		if err != nil {
			return err
		}
		e.instance = stored
	}
	return e.storeAll(ctx, e.status, known)
}

// noted are references with that of an object which a run applies among them.
func noted(known []api.AppliedObject, object *unstructured.Unstructured, run types.UID) []api.AppliedObject {
	reference := api.AppliedObject{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Run: run,
	}
	for i, one := range known {
		if one.Run = run; one == reference {
			known[i] = reference
			return known
		}
	}
	return append(known, reference)
}
