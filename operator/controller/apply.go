package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// apply writes an object of a task and returns it as it is stored.
func (e *execution) apply(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := e.free(ctx, object); err != nil {
		return nil, err
	}
	applied, err := e.user.apply(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(object), judged(err))
	}
	return applied, nil
}

// free says why an object cannot be written now, or ever: somebody else has one
// of that name, or the one that was there is going.
func (e *execution) free(ctx context.Context, object *unstructured.Unstructured) error {
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

// remove deletes an object of a task and waits until it is gone.
func (e *execution) remove(ctx context.Context, object *unstructured.Unstructured) error {
	found, err := e.user.get(ctx, object)
	if err != nil || found == nil {
		return err
	}
	if found.GetDeletionTimestamp() == nil {
		if err := e.user.delete(ctx, found); err != nil {
			return fmt.Errorf("%s: %w", title(object), judged(err))
		}
		if found, err = e.user.get(ctx, object); err != nil || found == nil {
			return err
		}
	}
	return waiting("%s is being deleted", title(object))
}
