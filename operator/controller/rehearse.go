package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rehearse goes through all tasks of the plan without doing any. What cannot be
// rendered, what the user may not do and what is somebody else's is known before
// the first write, all at once. Anything else that a dry run is refused for may
// be different when the steps before it are done.
func (e *execution) rehearse(ctx context.Context) error {
	var refused []error
	var applied []*unstructured.Unstructured
	for at, task := range tasks(e.status.Name, e.definition) {
		work, err := e.work(ctx, at, task)
		switch {
		case meta.IsNoMatchError(err):
			// A step before this one may define the kind.
			continue
		case isFatal(err):
			refused = append(refused, fmt.Errorf("%s.%s: task %s: %w", at.phase, at.step, task, err))
			continue
		case err != nil:
			return err
		}
		for _, object := range work.apply {
			err := e.rehearseApply(ctx, object)
			if err != nil && !isFatal(err) {
				return err
			}
			refused = append(refused, err)
		}
		for _, object := range work.remove {
			err := e.rehearseRemove(ctx, object)
			if err != nil && !isFatal(err) {
				return err
			}
			refused = append(refused, err)
		}
		applied = append(applied, work.apply...)
	}
	if err := errors.Join(refused...); err != nil {
		return fatalError{err}
	}
	return e.record(ctx, applied)
}

func (e *execution) rehearseApply(ctx context.Context, object *unstructured.Unstructured) error {
	err := e.free(ctx, object)
	var going waitingError
	if errors.As(err, &going) {
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

func (e *execution) rehearseRemove(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := e.user.get(ctx, object)
	if err != nil || found == nil {
		return err
	}
	if err := e.user.delete(ctx, found, metav1.DryRunAll); denied(err) {
		return fatalError{fmt.Errorf("%s: %w", title(object), err)}
	}
	return nil
}
