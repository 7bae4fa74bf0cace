package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/operator/plan"
)

// dryRun renders all tasks of the plan and sends their writes as dry runs, as the requester
// and as the authors of the values in them. It returns all permanent problems at once, before
// the first write: templates that cannot be rendered, requests that a user is not allowed to
// make, and objects that do not belong to the Instance. It ignores other errors of a dry-run
// request, because the real request may succeed after the earlier steps.
func (e *execution) dryRun(ctx context.Context) error {
	var refused []error
	var applied []target
	var last place
	for at, task := range tasks(e.status.Name, e.definition) {
		actions, err := e.actions(ctx, at, task)
		if err == nil {
			err = e.hashDependencies(ctx, actions.apply)
		}
		if err == nil {
			err = firstError(e.dryRunKinds(ctx, at, task, actions), e.dryRunActions(ctx, actions))
		} else if isFatal(err) {
			err = fmt.Errorf("%s.%s: task %s: %w", at.phase, at.step, task, err)
		}
		if err != nil && !isFatal(err) {
			return err
		}
		refused = append(refused, err)
		e.refuse(at, err)
		applied = append(applied, known(actions.apply)...)
		last = at
	}
	err := e.dryRunPrune(ctx, applied)
	if err != nil && !isFatal(err) {
		return err
	}
	// Objects are pruned after the last step.
	e.refuse(last, err)
	if err := errors.Join(append(refused, err)...); err != nil {
		return fatalError{err}
	}
	e.announceStart(applied)
	return e.record(ctx, applied)
}

// refuse notes the error of a step, for the status of the step.
func (e *execution) refuse(at place, err error) {
	if err != nil {
		e.failing = append(e.failing, plan.Result{Step: plan.Step{Phase: at.phase, Name: at.step}, Outcome: plan.Fatal(err)})
	}
}

// dryRunKinds returns a fatal error if a task applies an object of a kind that does not exist
// and that the run does not define.
func (e *execution) dryRunKinds(ctx context.Context, at place, task string, actions actions) error {
	for _, object := range actions.apply {
		if object.unknown == nil {
			continue
		}
		if err := e.unknownKind(ctx, at, task, object); isFatal(err) {
			return err
		}
	}
	return nil
}

// dryRunActions returns all permanent problems of a task, or the first other error.
func (e *execution) dryRunActions(ctx context.Context, actions actions) error {
	var refused []error
	if actions.pipe != nil {
		err := e.dryRunExec(ctx, actions.pipe.pod)
		if err != nil && !isFatal(err) {
			return err
		}
		refused = append(refused, err)
	}
	for _, object := range known(actions.apply) {
		err := e.dryRunApply(ctx, object)
		if err != nil && !isFatal(err) {
			return err
		}
		refused = append(refused, err)
	}
	for _, object := range known(actions.remove) {
		err := e.dryRunRemove(ctx, object)
		if err != nil && !isFatal(err) {
			return err
		}
		refused = append(refused, err)
	}
	return errors.Join(refused...)
}

// known returns the targets of kinds that the server knows. An earlier step may define the
// other kinds.
func known(all []target) []target {
	var found []target
	for _, object := range all {
		if object.unknown == nil {
			found = append(found, object)
		}
	}
	return found
}

// dryRunApply returns a fatal error if the object cannot be applied for a permanent reason.
func (e *execution) dryRunApply(ctx context.Context, object target) error {
	found, err := e.writable(ctx, object)
	var terminating waitingError
	if errors.As(err, &terminating) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = e.user.apply(ctx, object.Unstructured, metav1.DryRunAll); denied(err) {
		return fatalError{fmt.Errorf("%s: %w", title(object.Unstructured), err)}
	}
	return ifFatal(e.tryAsAuthors(ctx, object, application(found)))
}

// dryRunRemove returns a fatal error if a user is not allowed to delete the object, or if the
// object does not belong to the Instance.
func (e *execution) dryRunRemove(ctx context.Context, object target) error {
	found, err := e.removable(ctx, object)
	if err != nil || found == nil {
		return err
	}
	if err := e.user.delete(ctx, found, metav1.DryRunAll); denied(err) {
		return fatalError{fmt.Errorf("%s: %w", title(found), err)}
	}
	return ifFatal(e.tryAsAuthors(ctx, object, removal(found)))
}

// dryRunPrune returns a fatal error if a user is not allowed to delete an object that the
// run will prune. The argument holds the objects that the run will apply.
func (e *execution) dryRunPrune(ctx context.Context, applied []target) error {
	obsolete, err := e.obsolete(ctx)
	if err != nil {
		// prune computes the objects again, after the steps have defined all kinds.
		klog.V(4).InfoS("pruning is not tried in advance", "instance", klog.KObj(e.instance), "reason", err.Error())
		return nil
	}
	kept := map[string]bool{}
	for _, object := range applied {
		kept[identity(object.Unstructured)] = true
	}
	var refused []error
	for _, object := range obsolete {
		if kept[identity(object.Unstructured)] {
			continue
		}
		found, err := e.user.get(ctx, object.Unstructured)
		if meta.IsNoMatchError(err) || err == nil && (found == nil || !owns(e.instance, found)) {
			continue
		}
		if err == nil {
			err = e.dryRunRemove(ctx, object)
		}
		if err != nil && !isFatal(err) {
			return err
		}
		if err != nil {
			refused = append(refused, e.noLongerRendered(err))
		}
	}
	return errors.Join(refused...)
}

// ifFatal returns an error only if it is fatal.
func ifFatal(err error) error {
	if isFatal(err) {
		return err
	}
	return nil
}
