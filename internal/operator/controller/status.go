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

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/operator/plan"
	"holdfast.dev/holdfast/parameters"
)

// installing are the plans that bring an Instance to its OperatorVersion.
var installing = []string{parameters.DeployPlan, parameters.UpdatePlan, parameters.UpgradePlan}

// storeStatus stores the progress of the run in the status of the Instance, if it changed.
func (e *execution) storeStatus(ctx context.Context, status api.PlanStatus) error {
	return e.storeWithObjects(ctx, status, e.instance.Status.Objects)
}

// storeWithObjects stores the progress of the run and the list of applied objects.
func (e *execution) storeWithObjects(ctx context.Context, status api.PlanStatus, objects []api.AppliedObject) error {
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
	if status.Status == api.Complete && slices.Contains(installing, status.Name) {
		changed.Status.WorkingVersion = changed.VersionKey()
	}
	meta.SetStatusCondition(&changed.Status.Conditions, readyCondition(status, changed.Generation))
	if apiequality.Semantic.DeepEqual(changed.Status, e.instance.Status) {
		return nil
	}
	before := e.instance.Status.PlanStatus[status.Name]
	if err := failpoint.Fail("controller:store"); err != nil {
		return err
	}
	stored, err := e.write(ctx, changed, "status")
	if err != nil {
		return err
	}
	e.metrics.stored(before, status, e.result())
	e.instance = stored
	return nil
}

// readyCondition returns the Ready condition for the status of the last run.
func readyCondition(status api.PlanStatus, generation int64) metav1.Condition {
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

// record adds objects to the list in the status before they are applied. An object that
// was applied but is not in the list would never be pruned. If the OperatorVersion has a
// cleanup plan, the Instance gets the finalizer.
func (e *execution) record(ctx context.Context, objects []target) error {
	known := slices.Clone(e.instance.Status.Objects)
	finalize := hasCleanup(e.version)
	for _, object := range objects {
		known = withReference(known, object.Unstructured, e.instance.Spec.PlanExecution.UID)
	}
	if finalize && e.instance.DeletionTimestamp == nil && !slices.Contains(e.instance.Finalizers, api.CleanupFinalizer) {
		e.instance.Finalizers = append(e.instance.Finalizers, api.CleanupFinalizer)
		stored, err := e.write(ctx, e.instance)
		if err != nil {
			return err
		}
		e.instance = stored
	}
	return e.storeWithObjects(ctx, e.status, known)
}

// withReference adds an object that a run applies to the list, or updates its entry.
func withReference(known []api.AppliedObject, object *unstructured.Unstructured, run types.UID) []api.AppliedObject {
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
