package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/render"
)

// dependency returns the Instance of another operator that a KudoOperator task installs.
// It is applied like any other object, by the requester. Admission therefore judges it,
// and its plan runs with the rights of the same user.
func (e *execution) dependency(ctx context.Context, at place, task *api.Task) (target, error) {
	version := api.OperatorVersionName(task.Spec.Package, task.Spec.AppVersion, task.Spec.OperatorVersion)
	if task.Spec.OperatorVersion == "" {
		var err error
		if version, err = e.newest(ctx, e.instance.Namespace, task.Spec); err != nil {
			return target{}, err
		}
	}
	values, err := e.values(at)
	if err != nil {
		return target{}, err
	}
	dependency := render.Dependency{Task: task.Spec, OperatorVersion: version, Templates: e.version.Spec.Templates}
	object, err := dependency.Instance(ctx, values)
	if err != nil {
		return target{}, fatalError{err}
	}
	existing, err := e.controller.instance(ctx, cache.ObjectName{Namespace: e.instance.Namespace, Name: object.GetName()})
	if err != nil {
		return target{}, err
	}
	if existing != nil {
		if err := e.continueFrom(ctx, existing, object, version); err != nil {
			return target{}, fmt.Errorf("instance %s: %w", existing.Name, err)
		}
	}
	if err := e.markOwned(at, object); err != nil {
		return target{}, err
	}
	return e.dependencyTarget(task, object)
}

// dependencyTarget returns the Instance of a dependency with the parameters that take part in
// it. The package decides its OperatorVersion, so only the parameters in its name can have
// decided more than its parameter values.
func (e *execution) dependencyTarget(task *api.Task, object *unstructured.Unstructured) (target, error) {
	inName, err := e.referencesIn("instanceName", task.Spec.InstanceName)
	if err != nil {
		return target{}, err
	}
	inFile, err := e.referencesIn(task.Spec.ParameterFile, e.version.Spec.Templates[task.Spec.ParameterFile])
	if err != nil {
		return target{}, err
	}
	all := slices.Concat(inName, inFile)
	slices.Sort(all)
	return target{Unstructured: object, parameters: slices.Compact(all), origin: inName}, nil
}

// continueFrom prepares the wanted Instance of a dependency that exists already. If the
// existing Instance has the wanted version, it checks the binding. If the existing Instance had
// the wanted version before, it requests a rollback.
func (e *execution) continueFrom(ctx context.Context, existing *api.Instance, wanted *unstructured.Unstructured, version string) error {
	if existing.VersionKey() == version {
		return e.checkDependencyBinding(ctx, existing, version)
	}
	records, err := api.Records(existing)
	if err != nil {
		return fatalError{err}
	}
	if api.LastRecord(records, version) >= 0 {
		// The dependency was upgraded together with this Instance, and this Instance is
		// rolled back.
		api.RequestRollback(wanted, version)
	}
	return nil
}

// checkDependencyBinding returns a fatal error if the content of the dependency's
// OperatorVersion differs from the content that the existing Instance is bound to. The
// requester of this run has not accepted the new content. The binding counts only if the
// record of the Instance verifies, because the record is sealed together with it.
func (e *execution) checkDependencyBinding(ctx context.Context, existing *api.Instance, version string) error {
	if _, err := e.keys.Record(ctx, existing); errors.Is(err, authorship.ErrUnverified) {
		return fatalf("%w. Request a plan of this instance first", err)
	} else if err != nil {
		return err
	}
	current, err := e.controller.version(ctx, e.instance.Namespace, version)
	if err != nil || current == nil {
		return err
	}
	return checkBinding(existing, current)
}
