package controller

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/reconcile"
	"holdfast.dev/holdfast/parameters"
)

// reconcile continues the plan of an Instance as far as possible now. It reports whether
// there was any progress. An error means that reconcile has to be called again. run is the context of the
// plan: it ends with ctx, or when the Instance is deleted or its plan is cancelled.
func (c *controller) reconcile(ctx, run context.Context, name cache.ObjectName) (progressed bool, err error) {
	instance, err := c.instance(ctx, name)
	if err != nil {
		return false, err
	}
	if instance == nil {
		c.rehearsals.forget(name)
		return false, nil
	}
	if instance.DeletionTimestamp != nil {
		return c.finalize(ctx, run, instance)
	}
	if instance.Spec.PlanExecution.PlanName == "" {
		if instance, err = c.endCancelled(ctx, instance); err != nil {
			return false, err
		}
		return false, c.observe(ctx, instance)
	}
	instance, progressed, err = c.execute(run, instance)
	if err != nil {
		return progressed, err
	}
	if err := failpoint.Fail("controller:end"); err != nil {
		return progressed, err
	}
	// The run has ended. Without the name, another plan can be requested.
	instance.Spec.PlanExecution.PlanName = ""
	if instance, err = c.write(ctx, instance); err != nil {
		return progressed, err
	}
	return progressed, c.observe(ctx, instance)
}

// observe updates observedGeneration in the Ready condition of an Instance that has no
// plan to run. Clients that wait for the condition compare this generation.
func (c *controller) observe(ctx context.Context, instance *api.Instance) error {
	ready := meta.FindStatusCondition(instance.Status.Conditions, api.ReadyCondition)
	if ready == nil || ready.ObservedGeneration == instance.Generation {
		return nil
	}
	ready.ObservedGeneration = instance.Generation
	_, err := c.write(ctx, instance, "status")
	return err
}

// finalize runs the cleanup plan of an Instance that is being deleted, and then removes
// the finalizer. run is the context of the plan.
func (c *controller) finalize(ctx, run context.Context, instance *api.Instance) (progressed bool, err error) {
	if !slices.Contains(instance.Finalizers, api.CleanupFinalizer) {
		return false, nil
	}
	version, err := c.version(ctx, instance.Namespace, instance.VersionKey())
	if err != nil {
		return false, err
	}
	// If the OperatorVersion is gone, there is no cleanup plan to run.
	cleanup := version != nil && hasCleanup(version) && !cleanupCancelled(instance)
	if cleanup {
		if err := c.awaitDeleter(ctx, instance); err != nil {
			return false, err
		}
		if instance.Spec.PlanExecution.PlanName != parameters.CleanupPlan {
			instance.Spec.PlanExecution = api.PlanExecution{PlanName: parameters.CleanupPlan}
			if instance, err = c.write(ctx, instance); err != nil {
				return false, err
			}
		}
		if instance, progressed, err = c.execute(run, instance); err != nil {
			return progressed, err
		}
	}
	instance.Finalizers = slices.DeleteFunc(instance.Finalizers, func(name string) bool { return name == api.CleanupFinalizer })
	if _, err = c.write(ctx, instance); err != nil {
		return progressed, err
	}
	if err := failpoint.Fail("controller:finalized"); err != nil {
		return progressed, err
	}
	return progressed, c.deletions.Forget(ctx, instance.UID)
}

// awaitDeleter returns reconcile.ErrNotYet while it is not known which user deleted an
// Instance, and stores in its condition what to do.
func (c *controller) awaitDeleter(ctx context.Context, instance *api.Instance) error {
	_, err := c.deleter(ctx, instance)
	var wait waitingError
	if !errors.As(err, &wait) {
		if isFatal(err) {
			return nil // the cleanup reports it
		}
		return err
	}
	changed := meta.SetStatusCondition(&instance.Status.Conditions, metav1.Condition{
		Type: api.ReadyCondition, Status: metav1.ConditionFalse, Reason: string(api.Error),
		Message: "deletion: " + err.Error(), ObservedGeneration: instance.Generation,
	})
	if changed {
		if _, err := c.write(ctx, instance, "status"); err != nil {
			return err
		}
	}
	return reconcile.ErrNotYet
}

// hasCleanup reports whether an OperatorVersion has a cleanup plan.
func hasCleanup(version *api.OperatorVersion) bool {
	_, found := version.Spec.Plans[parameters.CleanupPlan]
	return found
}
