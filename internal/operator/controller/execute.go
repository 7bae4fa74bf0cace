package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/plan"
	"holdfast.dev/holdfast/internal/reconcile"
)

// execution is one run of a plan.
type execution struct {
	*controller
	instance *api.Instance
	// version is nil until prepare has read it.
	version    *api.OperatorVersion
	definition api.Plan
	// status is the current progress. It may be newer than the one in instance.
	status api.PlanStatus
	// users names the users that the run acts for.
	users authorship.Record
	// user writes with the rights of the requester.
	user *writer
	// params are the effective parameter values.
	params map[string]any
	// references holds the parameters that can change the output of a template, by its text.
	references map[string][]string
	// tried holds the dry runs of this run as authors.
	tried *rehearsal
	// cancelled means that a client has cancelled the run.
	cancelled bool
	// failing holds the steps that the dry run of the plan shows to fail.
	failing []plan.Result
}

// execute continues the run of an Instance as far as possible now. It returns the stored
// Instance and whether there was progress. Without an error the run has ended.
func (c *controller) execute(ctx context.Context, instance *api.Instance) (_ *api.Instance, progressed bool, err error) {
	wanted := instance.Spec.PlanExecution
	known := instance.Status.PlanStatus[wanted.PlanName]
	if known.UID == wanted.UID && known.Status.Ended() {
		return instance, false, nil
	}
	e := &execution{controller: c, instance: instance, tried: c.rehearsals.of(instance)}
	e.tried.templates.Begin()
	defer func() {
		if err == nil {
			e.announceEnd()
			c.rehearsals.forget(cache.MetaObjectToName(instance))
		}
	}()
	if err := e.prepare(ctx); err != nil {
		return e.instance, false, e.fail(ctx, err)
	}
	if known.UID != wanted.UID {
		if err := e.dryRun(ctx); err != nil {
			return e.instance, false, e.fail(ctx, err)
		}
		progressed = true
	}
	if err := e.storeStatus(ctx, e.status); err != nil {
		return e.instance, progressed, err
	}
	advanced, err := e.advance(ctx)
	return e.instance, progressed || advanced, err
}

// prepare reads what the run needs: the status, the record, the OperatorVersion, the plan,
// the parameters and the requester.
func (e *execution) prepare(ctx context.Context) error {
	wanted := e.instance.Spec.PlanExecution
	if e.status = e.instance.Status.PlanStatus[wanted.PlanName]; e.status.UID != wanted.UID {
		e.status = api.PlanStatus{Name: wanted.PlanName, UID: wanted.UID}
	}
	if err := e.openRecord(ctx); err != nil {
		return err
	}
	key := e.instance.VersionKey()
	version, err := e.controller.version(ctx, e.instance.Namespace, key)
	if err != nil {
		return err
	}
	if version == nil {
		return fmt.Errorf("operator version %s does not exist", key)
	}
	if err := checkBinding(e.instance, version); err != nil {
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
	requester, err := e.requester(ctx)
	if err != nil {
		return err
	}
	e.user, err = e.impersonate(ctx, requester)
	return err
}

// fail stores in the status why the run cannot continue. If the cause is fatal, the run has
// ended and fail returns nil. Otherwise it returns reconcile.ErrNotYet, and the controller
// retries the run.
func (e *execution) fail(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status := plan.ReportAll(e.status, e.failing, metav1.Now())
	status.Status, status.Message = api.Error, cause.Error()
	if isFatal(cause) {
		status.Status = api.FatalError
	} else {
		// The status gets the UID of the run only after a successful dry run. As long as
		// it does not have the UID, execute repeats the dry run.
		status.UID = ""
		if e.instance.Status.PlanStatus[status.Name].UID == e.instance.Spec.PlanExecution.UID {
			status.UID = e.instance.Spec.PlanExecution.UID
		}
	}
	if err := e.storeStatus(ctx, status); err != nil {
		return err
	}
	if status.Status.Ended() {
		return nil
	}
	return reconcile.ErrNotYet
}

// advance executes steps until the run has ended or no step makes progress. When the last
// step is complete it prunes, before it stores that the plan is complete.
func (e *execution) advance(ctx context.Context) (progressed bool, err error) {
	for {
		advanced := false
		for _, step := range plan.Next(e.definition, e.status) {
			err := e.runStep(ctx, step)
			if ctx.Err() != nil {
				return progressed, ctx.Err()
			}
			status := plan.Report(e.status, plan.Result{Step: step, Outcome: outcome(err)}, metav1.Now())
			if status.Status == api.Complete {
				if err = e.prune(ctx); err != nil {
					status = plan.Report(e.status, plan.Result{Step: step, Outcome: outcome(err)}, metav1.Now())
				}
			}
			if err := e.storeStatus(ctx, status); err != nil {
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
			return progressed, reconcile.ErrNotYet
		}
		progressed = true
	}
}

// runStep executes the tasks of a step in order, except those that are complete.
func (e *execution) runStep(ctx context.Context, step plan.Step) error {
	at := e.stepStatus(step)
	for i, name := range step.Tasks {
		// Done has one entry for each completed task, in order. Its length is compared and
		// not the names, because a step may list the same task twice.
		if i < len(at.Done) {
			continue
		}
		if err := e.runTask(ctx, place{plan: e.status.Name, phase: step.Phase, step: step.Name}, name); err != nil {
			return fmt.Errorf("task %s: %w", name, err)
		}
		if i == len(step.Tasks)-1 {
			break
		}
		status := *e.status.DeepCopy()
		e.status = status
		at = e.stepStatus(step)
		at.Done = append(at.Done, name)
		if err := e.storeStatus(ctx, e.status); err != nil {
			return err
		}
		at = e.stepStatus(step)
	}
	return nil
}

// stepStatus returns the status of a step. The caller may change it in place.
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

// runTask executes one task: it deletes, applies, and then checks that the applied objects
// are ready.
func (e *execution) runTask(ctx context.Context, at place, name string) error {
	actions, err := e.actions(ctx, at, name)
	if err != nil {
		return err
	}
	if actions.pipe != nil {
		return e.runPipe(ctx, at, actions.pipe)
	}
	if err := e.hashDependencies(ctx, actions.apply); err != nil {
		return err
	}
	var undefined error
	for _, object := range actions.apply {
		if object.unknown == nil {
			continue
		}
		if err := e.unknownKind(ctx, at, name, object); isFatal(err) {
			return err
		} else if undefined == nil {
			undefined = err
		}
	}
	// There are no objects of a kind that does not exist, so there is nothing to delete.
	for _, object := range known(actions.remove) {
		if err := e.remove(ctx, object); err != nil {
			return err
		}
	}
	// The task itself may define the kinds that are not known yet.
	if err := e.applyAll(ctx, known(actions.apply)); err != nil {
		return err
	}
	return firstError(undefined, actions.outcome)
}

// applyAll applies the objects of a task. It returns a waitingError until they are ready.
func (e *execution) applyAll(ctx context.Context, objects []target) error {
	if err := e.record(ctx, objects); err != nil {
		return err
	}
	applied := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		var err error
		if err := failpoint.Fail("controller:apply"); err != nil {
			return err
		}
		if applied[i], err = e.apply(ctx, object); err != nil {
			return err
		}
		failpoint.Reach("controller:applied")
	}
	for _, object := range applied {
		if err := e.ready(object); err != nil {
			return fmt.Errorf("%s: %w", title(object), err)
		}
	}
	return nil
}
