package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// apply applies an object of a task and returns the stored object.
func (e *execution) apply(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := e.checkWritable(ctx, object); err != nil {
		return nil, err
	}
	applied, err := e.user.apply(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(object), fatalIfPermanent(err))
	}
	return applied, nil
}

// checkWritable returns a fatal error if an object exists and does not belong to the
// Instance. It returns a waitingError if the object is being deleted.
func (e *execution) checkWritable(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := e.user.get(ctx, object)
	switch {
	case err != nil || found == nil:
		return err
	case !owns(e.instance, found):
		return fatalf("%s exists and is not of instance %s", title(object), e.instance.Name)
	case found.GetDeletionTimestamp() != nil:
		return waiting("%s is being deleted", title(object))
	}
	return nil
}

// remove deletes an object of a task. It returns a waitingError until the object is gone.
func (e *execution) remove(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := e.user.get(ctx, object)
	if err != nil || found == nil {
		return err
	}
	if found.GetDeletionTimestamp() == nil {
		if err := e.user.delete(ctx, found); err != nil {
			return fmt.Errorf("%s: %w", title(object), fatalIfPermanent(err))
		}
		if found, err = e.user.get(ctx, object); err != nil || found == nil {
			return err
		}
	}
	return waiting("%s is being deleted", title(object))
}
