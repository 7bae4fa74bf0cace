package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dryRun renders all tasks of the plan and sends their writes as dry runs. It returns all
// permanent problems at once, before the first write: templates that cannot be rendered,
// requests that the user is not allowed to make, and objects that do not belong to the
// Instance. It ignores other errors of a dry-run request, because the real request may
// succeed after the earlier steps.
func (e *execution) dryRun(ctx context.Context) error {
	var refused []error
	var applied []*unstructured.Unstructured
	for at, task := range tasks(e.status.Name, e.definition) {
		actions, err := e.actions(ctx, at, task)
		switch {
		case meta.IsNoMatchError(err):
			// An earlier step may create the definition of the kind.
			continue
		case isFatal(err):
			refused = append(refused, fmt.Errorf("%s.%s: task %s: %w", at.phase, at.step, task, err))
			continue
		case err != nil:
			return err
		}
		for _, object := range actions.apply {
			err := e.dryRunApply(ctx, object)
			if err != nil && !isFatal(err) {
				return err
			}
			refused = append(refused, err)
		}
		for _, object := range actions.remove {
			err := e.dryRunRemove(ctx, object)
			if err != nil && !isFatal(err) {
				return err
			}
			refused = append(refused, err)
		}
		applied = append(applied, actions.apply...)
	}
	if err := errors.Join(refused...); err != nil {
		return fatalError{err}
	}
	return e.record(ctx, applied)
}

// dryRunApply returns a fatal error if the object cannot be applied for a permanent reason.
func (e *execution) dryRunApply(ctx context.Context, object *unstructured.Unstructured) error {
	err := e.checkWritable(ctx, object)
	var terminating waitingError
	if errors.As(err, &terminating) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = e.user.apply(ctx, object, metav1.DryRunAll); denied(err) {
		return fatalError{fmt.Errorf("%s: %w", title(object), err)}
	}
	return nil
}

// dryRunRemove returns a fatal error if the user is not allowed to delete the object.
func (e *execution) dryRunRemove(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := e.user.get(ctx, object)
	if err != nil || found == nil {
		return err
	}
	if err := e.user.delete(ctx, found, metav1.DryRunAll); denied(err) {
		return fatalError{fmt.Errorf("%s: %w", title(object), err)}
	}
	return nil
}
