package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// apply applies an object of a task and returns the stored object.
func (e *execution) apply(ctx context.Context, object target) (*unstructured.Unstructured, error) {
	if object.GetNamespace() == "" {
		e.clusterScoped.Lock()
		defer e.clusterScoped.Unlock()
	}
	found, err := e.writable(ctx, object)
	if err != nil {
		return nil, err
	}
	if err := e.tryAsAuthors(ctx, object, application(found)); err != nil {
		return nil, fatalIfPermanent(err)
	}
	content, err := e.withAuthors(ctx, object)
	if err != nil {
		return nil, err
	}
	applied, err := e.user.apply(ctx, content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", title(content), fatalIfPermanent(err))
	}
	return applied, nil
}

// writable returns the stored object, nil if there is none. It returns a fatal error if the
// stored object does not belong to the Instance, and a waitingError if it is being deleted or
// will be.
func (e *execution) writable(ctx context.Context, object target) (*unstructured.Unstructured, error) {
	found, err := e.user.get(ctx, object.Unstructured)
	switch {
	case err != nil || found == nil:
		return nil, err
	case found.GetNamespace() == "":
		if err := e.share(ctx, object, found); err != nil {
			return nil, err
		}
	case !owns(e.instance, found):
		return nil, e.notOurs(found)
	}
	if found.GetDeletionTimestamp() != nil {
		return nil, waiting("%s is being deleted", title(found))
	}
	return found, nil
}

// removable returns the stored object that a task deletes, nil if there is none. It returns a
// fatal error if the object does not belong to the Instance. A cluster-scoped object that only
// other Instances of the operator use has nothing of this Instance any more.
func (e *execution) removable(ctx context.Context, object target) (*unstructured.Unstructured, error) {
	found, err := e.user.get(ctx, object.Unstructured)
	if err != nil || found == nil {
		return nil, err
	}
	switch {
	case owns(e.instance, found):
		return found, nil
	case found.GetNamespace() == "" && e.ofOperator(found):
		return nil, nil
	}
	return nil, e.notOurs(found)
}

// notOurs returns the error for a stored object that does not belong to the Instance. An object
// of an earlier Instance of this name is no obstacle: that Instance is gone, and the garbage
// collector will delete the object. The controller finds such an object if a user installs an
// Instance right after the uninstallation of the earlier one.
func (e *execution) notOurs(found *unstructured.Unstructured) error {
	if ofEarlier(e.instance, found) {
		return waiting("%s is of an earlier instance %s and will be deleted", title(found), e.instance.Name)
	}
	return fatalf("%s exists and is not of instance %s", title(found), e.instance.Name)
}

// remove deletes an object of a task. It returns a waitingError until the object is gone.
func (e *execution) remove(ctx context.Context, object target) error {
	found, err := e.removable(ctx, object)
	if err != nil || found == nil {
		return err
	}
	if found.GetDeletionTimestamp() == nil {
		if shared, err := e.leave(ctx, object, found); err != nil || shared {
			return err
		}
		if err := e.delete(ctx, object, found); err != nil {
			return err
		}
		if found, err = e.user.get(ctx, object.Unstructured); err != nil || found == nil {
			return err
		}
	}
	return waiting("%s is being deleted", title(found))
}

// delete deletes the stored object of a target.
func (e *execution) delete(ctx context.Context, object target, found *unstructured.Unstructured) error {
	if err := e.tryAsAuthors(ctx, object, removal(found)); err != nil {
		return fatalIfPermanent(err)
	}
	if err := e.user.delete(ctx, found); err != nil {
		return fmt.Errorf("%s: %w", title(found), fatalIfPermanent(err))
	}
	return nil
}
