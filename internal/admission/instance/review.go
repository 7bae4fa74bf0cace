package instance

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Mutate judges a write and returns the patch that completes it.
func (j Judge) Mutate(ctx context.Context, w Write) ([]Operation, error) {
	if w.Resource != instances || w.New == nil {
		return nil, nil
	}
	before := w.New.DeepCopy()
	dropNulls(w.New)
	if err := j.complete(ctx, w); err != nil {
		return nil, err
	}
	return patch(before, w.New), nil
}

// Validate judges a write in its final form, after all mutating steps.
func (j Judge) Validate(ctx context.Context, w Write) ([]Operation, error) {
	switch {
	case w.New == nil:
		return nil, nil
	case w.Resource == instances:
		return nil, j.confirm(ctx, w)
	case w.Resource == versions:
		return nil, j.refuseSpecChange(w)
	}
	return nil, nil
}

// Delete records the user that deletes an Instance, and refuses to delete an OperatorVersion
// in use.
func (j Judge) Delete(ctx context.Context, w Write) ([]Operation, error) {
	switch {
	case w.New != nil:
		return nil, nil
	case w.Resource == versions:
		return nil, j.refuseDeletion(ctx, w.Old, w.Requester)
	case w.Resource == instances && !w.DryRun:
		return nil, j.recordDeletion(ctx, w.Old, w.Requester)
	}
	return nil, nil
}

// dropNulls removes parameters with the value null. Our own server drops nulls before
// admission runs; other servers may not.
func dropNulls(obj *unstructured.Unstructured) {
	values := content(obj, []string{"spec", "parameters"})
	for name, value := range values {
		if value == nil {
			delete(values, name)
		}
	}
}
