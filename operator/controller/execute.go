package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/plan"
)

// execution is one run of a plan, as far as it is.
type execution struct {
	*controller
	instance   *api.Instance
	version    *api.OperatorVersion
	definition api.Plan
	status     api.PlanStatus
	user       *writer
	params     map[string]any
}

// execute gets the run of an Instance on as far as it goes now and returns the
// Instance as stored. Without an error the run has ended.
func (c *controller) execute(ctx context.Context, instance *api.Instance) (_ *api.Instance, progressed bool, err error) {
	wanted := instance.Spec.PlanExecution
	known := instance.Status.PlanStatus[wanted.PlanName]
	if known.UID == wanted.UID && known.Status.Ended() {
		return instance, false, nil
	}
	e := &execution{controller: c, instance: instance}
	if err := e.open(ctx); err != nil {
		return e.instance, false, e.fail(ctx, err)
	}
	if known.UID != wanted.UID {
		if err := e.rehearse(ctx); err != nil {
			return e.instance, false, e.fail(ctx, err)
		}
		progressed = true
	}
	if err := e.store(ctx, e.status); err != nil {
		return e.instance, progressed, err
	}
	advanced, err := e.advance(ctx)
	return e.instance, progressed || advanced, err
}

// open finds what the run needs.
func (e *execution) open(ctx context.Context) error {
	wanted := e.instance.Spec.PlanExecution
	if e.status = e.instance.Status.PlanStatus[wanted.PlanName]; e.status.UID != wanted.UID {
		e.status = api.PlanStatus{Name: wanted.PlanName, UID: wanted.UID}
	}
	reference := e.instance.Spec.OperatorVersion
	version, err := e.controller.version(ctx, e.instance.Namespace, reference.Name)
	if err != nil {
		return err
	}
	if version == nil {
		return fmt.Errorf("operator version %s does not exist", reference.Name)
	}
	if err := bound(e.instance, version); err != nil {
		return err
	}
	e.version = version
	definition, found := version.Spec.Plans[wanted.PlanName]
	if !found {
		return fatalf("operator version %s has no plan '%s'", version.Name, wanted.PlanName)
	}
	e.definition = definition
	e.status = plan.Resume(definition, wanted, e.instance.Status.PlanStatus[wanted.PlanName], metav1.Now())
	e.params = version.Definitions().Effective(e.instance.Spec.Parameters)
	e.user, err = e.as(e.instance)
	return err
}

// fail stores that a run cannot go on, or not now; nil means that it has ended.
func (e *execution) fail(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status := *e.status.DeepCopy()
	status.Status, status.Message = api.Error, cause.Error()
	if isFatal(cause) {
		status.Status = api.FatalError
	} else {
		// It is rehearsed again: a run is known by its UID once it was.
		status.UID = ""
		if e.instance.Status.PlanStatus[status.Name].UID == e.instance.Spec.PlanExecution.UID {
			status.UID = e.instance.Spec.PlanExecution.UID
		}
	}
	if err := e.store(ctx, status); err != nil {
		return err
	}
	if status.Status.Ended() {
		return nil
	}
	return errNotYet
}

// advance does the steps that can be done until there is none, or none gets on.
func (e *execution) advance(ctx context.Context) (progressed bool, err error) {
	for {
		advanced := false
		for _, step := range plan.Next(e.definition, e.status) {
			err := e.do(ctx, step)
			if ctx.Err() != nil {
				return progressed, ctx.Err()
			}
			status := plan.Report(e.status, plan.Result{Step: step, Outcome: outcome(err)}, metav1.Now())
			if status.Status == api.Complete {
				if err = e.prune(ctx); err != nil {
					status = plan.Report(e.status, plan.Result{Step: step, Outcome: outcome(err)}, metav1.Now())
				}
			}
			if err := e.store(ctx, status); err != nil {
				return progressed, err
			}
			if e.status.Status.Ended() {
				return true, nil
			}
			advanced = advanced || err == nil
		}
		if e.status.Status.Ended() {
			return progressed, nil
		}
		if !advanced {
			return progressed, errNotYet
		}
		progressed = true
	}
}

// do does the tasks of a step that are not through, in their order.
func (e *execution) do(ctx context.Context, step plan.Step) error {
	at := e.stepStatus(step)
	for i, name := range step.Tasks {
		// A step may have a task twice, so that it is not the names that count.
		if i < len(at.Done) {
			continue
		}
		if err := e.task(ctx, place{plan: e.status.Name, phase: step.Phase, step: step.Name}, name); err != nil {
			return fmt.Errorf("task %s: %w", name, err)
		}
		if i == len(step.Tasks)-1 {
			break
		}
		status := *e.status.DeepCopy()
		e.status = status
		at = e.stepStatus(step)
		at.Done = append(at.Done, name)
		if err := e.store(ctx, e.status); err != nil {
			return err
		}
		at = e.stepStatus(step)
	}
	return nil
}

// stepStatus is the status of a step, to be changed in place.
func (e *execution) stepStatus(step plan.Step) *api.StepStatus {
	for i := range e.status.Phases {
		if e.status.Phases[i].Name != step.Phase {
			continue
		}
		for j := range e.status.Phases[i].Steps {
			if e.status.Phases[i].Steps[j].Name == step.Name {
				return &e.status.Phases[i].Steps[j]
			}
		}
	}
	return &api.StepStatus{}
}

// task does one task.
func (e *execution) task(ctx context.Context, at place, name string) error {
	work, err := e.work(ctx, at, name)
	if err != nil {
		return err
	}
	for _, object := range work.remove {
		if err := e.remove(ctx, object); err != nil {
			return err
		}
	}
	if err := e.record(ctx, work.apply); err != nil {
		return err
	}
	applied := make([]*unstructured.Unstructured, len(work.apply))
	for i, object := range work.apply {
		if applied[i], err = e.apply(ctx, object); err != nil {
			return err
		}
	}
	for _, object := range applied {
		if err := e.ready(object); err != nil {
			return fmt.Errorf("%s: %w", title(object), err)
		}
	}
	return work.outcome
}
