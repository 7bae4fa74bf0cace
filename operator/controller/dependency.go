package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/render"
)

// dependency is the Instance of another operator that a task wants to be there.
// It is written like any other object, so that admission judges it and its plan
// has the rights of the same user.
func (e *execution) dependency(ctx context.Context, at place, task *api.Task) (*unstructured.Unstructured, error) {
	version := api.OperatorVersionName(task.Spec.Package, task.Spec.AppVersion, task.Spec.OperatorVersion)
	if task.Spec.OperatorVersion == "" {
		var err error
		if version, err = e.newest(ctx, e.instance.Namespace, task.Spec); err != nil {
			return nil, err
		}
	}
	object, err := render.Dependency{Task: task.Spec, OperatorVersion: version, Templates: e.version.Spec.Templates}.Instance(ctx, e.values(at))
	if err != nil {
		return nil, fatalError{err}
	}
	there, err := e.controller.instance(ctx, cache.ObjectName{Namespace: e.instance.Namespace, Name: object.GetName()})
	if err != nil {
		return nil, err
	}
	if there != nil {
		if err := e.meet(ctx, there, object, version); err != nil {
			return nil, fmt.Errorf("instance %s: %w", there.Name, err)
		}
	}
	return object, e.mark(at, object)
}

// meet has the Instance that is wanted go on from the one that is there.
func (e *execution) meet(ctx context.Context, there *api.Instance, wanted *unstructured.Unstructured, version string) error {
	if there.Spec.OperatorVersion.Name == version {
		return e.dependencyBound(ctx, there, version)
	}
	records, err := api.Records(there)
	if err != nil {
		return fatalError{err}
	}
	if last := len(records) - 1; last >= 0 && records[last].OperatorVersion == version {
		// It went up with us and goes back with us.
		api.RequestRollback(wanted, version)
	}
	return nil
}

// dependencyBound refuses to run another content of an OperatorVersion than the one
// that the Instance of it had: who asked for our plan did not ask for that.
func (e *execution) dependencyBound(ctx context.Context, there *api.Instance, version string) error {
	now, err := e.controller.version(ctx, e.instance.Namespace, version)
	if err != nil || now == nil {
		return err
	}
	return bound(there, now)
}
