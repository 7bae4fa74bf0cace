package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/plan"
	"holdfast.dev/holdfast/parameters"
)

// endCancelled stores in the status of an Instance that its plan was cancelled, and returns the
// stored Instance.
func (c *controller) endCancelled(ctx context.Context, instance *api.Instance) (*api.Instance, error) {
	run := instance.Spec.PlanExecution
	if run.PlanName != "" || run.Status != api.FatalError {
		return instance, nil
	}
	for _, status := range instance.Status.PlanStatus {
		// A run that did not pass its dry run has no UID in its status.
		if !status.Status.Running() || status.UID != run.UID && status.UID != "" {
			continue
		}
		status = plan.Cancel(status, "the plan was cancelled", metav1.Now())
		status.UID = run.UID
		e := &execution{controller: c, instance: instance, cancelled: true}
		err := e.storeStatus(ctx, status)
		return e.instance, err
	}
	return instance, nil
}

// cleanupCancelled reports whether a client has cancelled the cleanup of an Instance that is
// being deleted.
func cleanupCancelled(instance *api.Instance) bool {
	run, status := instance.Spec.PlanExecution, instance.Status.PlanStatus[parameters.CleanupPlan]
	if run.PlanName != "" || run.Status != api.FatalError {
		return false
	}
	return status.UID == run.UID || status.UID == "" && status.Status.Running()
}
