package controller

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// reconcile gets an Instance on as far as it goes now. It says whether it got on
// at all, and returns an error if it is to be called again.
func (c *controller) reconcile(ctx context.Context, name cache.ObjectName) (progressed bool, err error) {
	instance, err := c.instance(ctx, name)
	if err != nil || instance == nil {
		return false, err
	}
	if instance.DeletionTimestamp != nil {
		return c.finalize(ctx, instance)
	}
	if instance.Spec.PlanExecution.PlanName == "" {
		return false, c.observe(ctx, instance)
	}
	instance, progressed, err = c.execute(ctx, instance)
	if err != nil {
		return progressed, err
	}
	// The run has ended: the name makes room for the next.
	instance.Spec.PlanExecution.PlanName = ""
	if instance, err = c.write(ctx, instance); err != nil {
		return progressed, err
	}
	return progressed, c.observe(ctx, instance)
}

// observe says of an Instance that wants nothing that this is known: who waits
// for its condition looks at the generation it is about.
func (c *controller) observe(ctx context.Context, instance *api.Instance) error {
	ready := meta.FindStatusCondition(instance.Status.Conditions, api.ReadyCondition)
	if ready == nil || ready.ObservedGeneration == instance.Generation {
		return nil
	}
	ready.ObservedGeneration = instance.Generation
	_, err := c.write(ctx, instance, "status")
	return err
}

// finalize runs the plan cleanup of an Instance that is deleted, and lets it go.
func (c *controller) finalize(ctx context.Context, instance *api.Instance) (progressed bool, err error) {
	if !slices.Contains(instance.Finalizers, api.CleanupFinalizer) {
		return false, nil
	}
	version, err := c.version(ctx, instance.Namespace, instance.Spec.OperatorVersion.Name)
	if err != nil {
		return false, err
	}
	// Without its version nobody knows what to clean up.
	if version != nil && hasCleanup(version) {
		if instance.Spec.PlanExecution.PlanName != parameters.CleanupPlan {
			instance.Spec.PlanExecution = api.PlanExecution{PlanName: parameters.CleanupPlan}
			if instance, err = c.write(ctx, instance); err != nil {
				return false, err
			}
		}
		if instance, progressed, err = c.execute(ctx, instance); err != nil {
			return progressed, err
		}
	}
	if err := c.removeUnowned(ctx, instance); err != nil {
		return progressed, err
	}
	instance.Finalizers = slices.DeleteFunc(instance.Finalizers, func(name string) bool { return name == api.CleanupFinalizer })
	_, err = c.write(ctx, instance)
	return progressed, err
}

func hasCleanup(version *api.OperatorVersion) bool {
	_, found := version.Spec.Plans[parameters.CleanupPlan]
	return found
}
