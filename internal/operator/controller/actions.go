package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/render"
)

// place identifies the step of a plan that a task belongs to.
type place struct{ plan, phase, step string }

// actions are the writes that a task makes.
type actions struct {
	// apply and remove are the objects to apply and to delete.
	apply, remove []target
	// pipe is set for a Pipe task. apply then holds its objects, for dry runs and pruning.
	pipe *pipe
	// outcome is the outcome of a Dummy task, which has no objects.
	outcome error
}

// target is an object that a plan applies or deletes.
type target struct {
	*unstructured.Unstructured
	// parameters are the names of the parameters with values that took part in the object.
	parameters []string
	// origin are those of parameters that may have decided more of an Instance than its
	// parameter values. It is not set for other kinds.
	origin []string
	// unknown is the error if the server does not know the kind of the object. An earlier
	// step may define it.
	unknown error
	// dropped are the fields that the template has and the kind does not.
	dropped []string
}

// actions returns the writes of a task at a place. It makes none of them.
func (e *execution) actions(ctx context.Context, at place, name string) (actions, error) {
	task := e.version.Spec.Task(name)
	if task == nil {
		return actions{}, fatalf("operator version %s has no such task", e.version.Name)
	}
	switch task.Kind {
	case api.ApplyTask:
		objects, err := e.rendered(ctx, at, task)
		return actions{apply: objects}, err
	case api.DeleteTask:
		objects, err := e.rendered(ctx, at, task)
		return actions{remove: objects}, err
	case api.ToggleTask:
		return e.toggle(ctx, at, task)
	case api.KudoOperatorTask:
		object, err := e.dependency(ctx, at, task)
		if err != nil {
			return actions{}, err
		}
		return actions{apply: []target{object}}, nil
	case api.DummyTask:
		return actions{outcome: dummy(task.Spec)}, nil
	case api.PipeTask:
		return e.pipe(ctx, at, task)
	}
	return actions{}, fatalf("there is no kind of task %q", task.Kind)
}

// toggle applies or deletes the objects of a task, as its parameter says.
func (e *execution) toggle(ctx context.Context, at place, task *api.Task) (actions, error) {
	text := fmt.Sprint(e.params[task.Spec.Parameter])
	on, err := strconv.ParseBool(text)
	if err != nil {
		return actions{}, fatalf("parameter '%s' decides whether objects are there and is neither true nor false but '%s'",
			task.Spec.Parameter, text)
	}
	objects, err := e.rendered(ctx, at, task)
	if on {
		return actions{apply: objects}, err
	}
	return actions{remove: objects}, err
}

// dummy returns the outcome that the spec of a Dummy task asks for.
func dummy(spec api.TaskSpec) error {
	switch {
	case spec.WantErr && spec.Fatal:
		return fatalf("the task is meant to fail for good")
	case spec.WantErr:
		return fmt.Errorf("the task is meant to fail")
	case !spec.Done:
		return waiting("the task is meant to wait")
	}
	return nil
}

// rendered renders the templates of a task and marks the objects as owned.
func (e *execution) rendered(ctx context.Context, at place, task *api.Task) ([]target, error) {
	var all []target
	for _, name := range task.Spec.Resources {
		text, err := e.template(ctx, at, name)
		if err != nil {
			return nil, err
		}
		objects, err := render.Objects(text)
		if err != nil {
			return nil, fatalf("%s: %w", name, err)
		}
		parameters, err := e.takingPart(task, name)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			dropped := render.DropUnknown(object)
			err := e.markOwned(at, object)
			if err != nil && !meta.IsNoMatchError(err) {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			one := target{Unstructured: object, parameters: parameters, unknown: err, dropped: dropped}
			if isInstance(object) {
				one.origin = parameters
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// template renders one template of the OperatorVersion.
func (e *execution) template(ctx context.Context, at place, name string) (string, error) {
	source, found := e.version.Spec.Templates[name]
	if !found {
		return "", fatalf("operator version %s has no template %s", e.version.Name, name)
	}
	values, err := e.values(at)
	if err != nil {
		return "", err
	}
	text, err := e.tried.templates.Template(ctx, name, source, values)
	if err != nil {
		return "", fatalError{err}
	}
	return text, nil
}

// values returns the data of the templates of a step.
func (e *execution) values(at place) (render.Values, error) {
	pipes, err := e.pipes(at.plan)
	spec := e.version.Spec
	return render.Values{
		Name: e.instance.Name, Namespace: e.instance.Namespace,
		OperatorName: spec.Operator.Name, OperatorVersion: spec.Version, AppVersion: spec.AppVersion,
		PlanName: at.plan, PhaseName: at.phase, StepName: at.step, Params: e.params, Pipes: pipes,
	}, err
}

// markOwned sets labels, annotations and the owner of an object. It records the owner of
// a namespaced object as an owner reference, and the owner of a cluster-scoped object in
// an annotation.
func (e *execution) markOwned(at place, object *unstructured.Unstructured) error {
	err := render.Label([]*unstructured.Unstructured{object}, render.Meta{
		Operator: e.version.Spec.Operator.Name, Instance: e.instance.Name, Namespace: e.instance.Namespace,
		Plan: at.plan, Phase: at.phase, Step: at.step, Version: e.version.Spec.Version,
	}, e.namespaced)
	if err != nil {
		return err
	}
	mapping, err := e.mapping(object.GroupVersionKind())
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: api.GroupVersion.String(), Kind: "Instance", Name: e.instance.Name, UID: e.instance.UID,
			Controller: new(true),
		}})
		return nil
	}
	object.SetNamespace("")
	annotations := object.GetAnnotations()
	maps.Copy(annotations, api.OwnerAnnotations(e.instance))
	object.SetAnnotations(annotations)
	return nil
}

// owns reports whether a stored object belongs to the Instance.
func owns(instance *api.Instance, found *unstructured.Unstructured) bool {
	return slices.Contains(ownersOf(found), instance.UID)
}

// ofEarlier reports whether a stored object belongs to an Instance that had the name of this one.
func ofEarlier(instance *api.Instance, found *unstructured.Unstructured) bool {
	return found.GetNamespace() == instance.Namespace && slices.ContainsFunc(found.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.APIVersion == api.GroupVersion.String() && owner.Kind == "Instance" &&
			owner.Name == instance.Name && owner.UID != instance.UID
	})
}

// ownersOf returns the UIDs of the owners of a stored object.
func ownersOf(found *unstructured.Unstructured) []types.UID {
	if found.GetNamespace() == "" {
		return api.Owners(found)
	}
	var owners []types.UID
	for _, owner := range found.GetOwnerReferences() {
		owners = append(owners, owner.UID)
	}
	return owners
}
