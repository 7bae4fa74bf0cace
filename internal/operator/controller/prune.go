package controller

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/parameters"
)

// tasks iterates over the tasks of a plan, each with its place.
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

// prune deletes objects that an earlier run applied and that no plan of the OperatorVersion
// renders any more. It renders all plans and not only the one that ran, so the objects of a
// backup plan stay after an update. It also keeps the objects that this run applied: a
// template with a time or a random value renders another name each time.
func (e *execution) prune(ctx context.Context) error {
	obsolete, err := e.obsolete(ctx)
	if err != nil {
		// If a plan cannot be rendered, the obsolete objects are not known.
		klog.InfoS("objects are not pruned", "instance", klog.KObj(e.instance), "reason", err.Error())
		return nil
	}
	if len(obsolete) == 0 {
		return nil
	}
	gone := map[string]bool{}
	for _, object := range obsolete {
		kept, err := e.pruneOne(ctx, object)
		if err != nil {
			return e.noLongerRendered(err)
		}
		if !kept {
			gone[identity(object.Unstructured)] = true
		}
	}
	kept := slices.DeleteFunc(slices.Clone(e.instance.Status.Objects), func(reference api.AppliedObject) bool {
		return gone[identity(objectOf(reference))]
	})
	return e.storeWithObjects(ctx, e.status, kept)
}

// noLongerRendered adds to an error why the object is to be deleted.
func (e *execution) noLongerRendered(err error) error {
	return fmt.Errorf("no longer part of operator version %s: %w", e.version.Name, err)
}

// obsolete returns the objects of earlier runs that no plan of the OperatorVersion renders
// with the current parameter values. The cleanup plan makes no object obsolete.
func (e *execution) obsolete(ctx context.Context) ([]target, error) {
	if e.status.Name == parameters.CleanupPlan {
		return nil, nil
	}
	rendered, err := e.allRendered(ctx)
	if err != nil {
		return nil, err
	}
	var all []target
	for _, reference := range e.instance.Status.Objects {
		object := objectOf(reference)
		if !rendered[identity(object)] && reference.Run != e.instance.Spec.PlanExecution.UID {
			// With other values, any template could have rendered the object.
			all = append(all, target{Unstructured: object, parameters: e.allParameters()})
		}
	}
	return all, nil
}

// allRendered returns the identities of all objects that the plans of the OperatorVersion
// apply with the current parameter values.
func (e *execution) allRendered(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	for name, definition := range e.version.Spec.Plans {
		for at, task := range tasks(name, definition) {
			actions, err := e.actions(ctx, at, task)
			// Objects of a kind that does not exist do not exist either.
			for _, object := range known(actions.apply) {
				all[identity(object.Unstructured)] = true
			}
			if err != nil {
				return nil, fmt.Errorf("plan %s: task %s: %w", name, task, err)
			}
		}
	}
	return all, nil
}

// pruneOne deletes an object if it exists and belongs to the Instance. It only leaves the owners
// of an object that other Instances use too. It keeps a definition that has objects, which would
// be deleted with it, and reports that: a later run tries again.
func (e *execution) pruneOne(ctx context.Context, object target) (kept bool, err error) {
	found, err := e.user.get(ctx, object.Unstructured)
	if meta.IsNoMatchError(err) {
		// The kind was removed, and its objects with it.
		return false, nil
	}
	if err != nil || found == nil || !owns(e.instance, found) {
		return false, err
	}
	if shared, err := e.leave(ctx, object, found); err != nil || shared {
		return false, err
	}
	if isDefinition(found) {
		if kept, err = e.user.hasObjects(ctx, found); err != nil || kept {
			return kept, err
		}
	}
	return false, e.delete(ctx, object, found)
}

// objectOf returns an object with kind, namespace and name of a reference.
func objectOf(reference api.AppliedObject) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(reference.APIVersion)
	object.SetKind(reference.Kind)
	object.SetNamespace(reference.Namespace)
	object.SetName(reference.Name)
	return object
}

// identity returns a key for an object. The version of its API is not part of it, because
// the same object can be applied with another version later.
func identity(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind().GroupKind()
	return kind.String() + "/" + object.GetNamespace() + "/" + object.GetName()
}
