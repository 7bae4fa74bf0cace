package controller

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// tasks are those of a plan, each with its place.
func tasks(name string, definition api.Plan) iter.Seq2[place, string] {
	return func(yield func(place, string) bool) {
		for _, phase := range definition.Phases {
			for _, step := range phase.Steps {
				for _, task := range step.Tasks {
					if !yield(place{plan: name, phase: phase.Name, step: step.Name}, task) {
						return
					}
				}
			}
		}
	}
}

// prune removes what was applied once and is rendered by no plan of the version
// any more. Other plans count: what a backup applied outlives an update. So does
// what this run applied, though a name with the time in it is never rendered again.
func (e *execution) prune(ctx context.Context) error {
	if e.status.Name == parameters.CleanupPlan {
		return nil
	}
	wanted, err := e.wanted(ctx)
	if err != nil {
		// What a plan would render cannot be told, so nothing is known to be too
		// much.
		klog.InfoS("objects are not pruned", "instance", klog.KObj(e.instance), "reason", err.Error())
		return nil
	}
	var kept []api.AppliedObject
	for _, reference := range e.instance.Status.Objects {
		object := named(reference)
		if wanted[identity(object)] || reference.Run == e.instance.Spec.PlanExecution.UID {
			kept = append(kept, reference)
			continue
		}
		if err := e.drop(ctx, object); err != nil {
			return fmt.Errorf("no longer part of operator version %s: %w", e.version.Name, err)
		}
	}
	if len(kept) == len(e.instance.Status.Objects) {
		return nil
	}
	return e.storeAll(ctx, e.status, kept)
}

// wanted is everything that plans of the version apply with the values of now.
func (e *execution) wanted(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	for name, definition := range e.version.Spec.Plans {
		for at, task := range tasks(name, definition) {
			work, err := e.work(ctx, at, task)
			if err != nil {
				return nil, fmt.Errorf("plan %s: task %s: %w", name, task, err)
			}
			for _, object := range work.apply {
				all[identity(object)] = true
			}
		}
	}
	return all, nil
}

// drop deletes an object if it is the Instance's.
func (e *execution) drop(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := e.user.get(ctx, object)
	if meta.IsNoMatchError(err) {
		// With its kind the object went as well.
		return nil
	}
	if err != nil || found == nil || !owns(e.instance, found) {
		return err
	}
	if err := e.user.delete(ctx, found); err != nil {
		return fmt.Errorf("%s: %w", title(object), judged(err))
	}
	return nil
}

// removeUnowned removes the objects of a deleted Instance that no garbage
// collector finds, because they live in no namespace. What its last requester may
// not delete stays.
func (c *controller) removeUnowned(ctx context.Context, instance *api.Instance) error {
	user, err := c.as(instance)
	if isFatal(err) {
		return nil
	}
	if err != nil {
		return err
	}
	e := &execution{controller: c, instance: instance, user: user}
	var all []error
	for _, reference := range instance.Status.Objects {
		if reference.Namespace != "" {
			continue
		}
		if err := e.drop(ctx, named(reference)); isFatal(err) {
			klog.ErrorS(err, "an object of a deleted instance is left", "instance", klog.KObj(instance))
		} else {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func named(reference api.AppliedObject) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(reference.APIVersion)
	object.SetKind(reference.Kind)
	object.SetNamespace(reference.Namespace)
	object.SetName(reference.Name)
	return object
}

// identity tells objects apart; one may move to another version of its API.
func identity(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind().GroupKind()
	return kind.String() + "/" + object.GetNamespace() + "/" + object.GetName()
}
