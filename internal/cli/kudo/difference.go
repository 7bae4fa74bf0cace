package kudo

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/render"
)

// rendering renders an OperatorVersion for an Instance with parameter values.
type rendering struct {
	instance *api.Instance
	version  *api.OperatorVersion
	values   map[string]string
}

// objects returns the objects that exist after plans have run one after the other, by title.
// Plans that the version does not have are skipped.
func (r rendering) objects(ctx context.Context, plans []string) (map[string]*unstructured.Unstructured, error) {
	objects := map[string]*unstructured.Unstructured{}
	for task, values := range r.tasks(plans) {
		if err := r.task(ctx, task, values, objects); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// tasks iterates over the tasks of plans, each with the data of its templates.
func (r rendering) tasks(plans []string) iter.Seq2[*api.Task, render.Values] {
	params := r.version.Definitions().Effective(r.values)
	return func(yield func(*api.Task, render.Values) bool) {
		for _, plan := range plans {
			for _, phase := range r.version.Spec.Plans[plan].Phases {
				for _, step := range phase.Steps {
					values := render.Values{
						Name: r.instance.Name, Namespace: r.instance.Namespace, OperatorName: r.version.Spec.Operator.Name,
						OperatorVersion: r.version.Spec.Version, AppVersion: r.version.Spec.AppVersion,
						PlanName: plan, PhaseName: phase.Name, StepName: step.Name, Params: params, Pipes: r.pipes(),
					}
					for _, name := range step.Tasks {
						if task := r.version.Spec.Task(name); task != nil && !yield(task, values) {
							return
						}
					}
				}
			}
		}
	}
}

// task adds and removes the objects that a task would apply and delete.
func (r rendering) task(
	ctx context.Context, task *api.Task, values render.Values, objects map[string]*unstructured.Unstructured,
) error {
	apply := task.Kind == api.ApplyTask
	switch task.Kind {
	case api.ApplyTask, api.DeleteTask:
	case api.KudoOperatorTask:
		return r.dependency(ctx, task, values, objects)
	case api.ToggleTask:
		on, err := strconv.ParseBool(fmt.Sprint(values.Params[task.Spec.Parameter]))
		if err != nil {
			return fmt.Errorf("task %s: parameter '%s' is no boolean: %w", task.Name, task.Spec.Parameter, err)
		}
		apply = on
	default:
		return nil
	}
	for _, template := range task.Spec.Resources {
		text, err := render.Template(ctx, template, r.version.Spec.Templates[template], values)
		if err != nil {
			return fmt.Errorf("templates/%w", err)
		}
		rendered, err := render.Objects(text)
		if err != nil {
			return fmt.Errorf("templates/%s: %w", template, err)
		}
		for _, object := range rendered {
			render.DropUnknown(object)
			if apply {
				objects[title(object)] = object
			} else {
				delete(objects, title(object))
			}
		}
	}
	return nil
}

// dependency adds the Instance of another operator to the objects.
func (r rendering) dependency(
	ctx context.Context, task *api.Task, values render.Values, objects map[string]*unstructured.Unstructured,
) error {
	version := api.OperatorVersionName(task.Spec.Package, task.Spec.AppVersion, task.Spec.OperatorVersion)
	if task.Spec.OperatorVersion == "" {
		version = "the newest of " + task.Spec.Package
	}
	dependency := render.Dependency{Task: task.Spec, OperatorVersion: version, Templates: r.version.Spec.Templates}
	object, err := dependency.Instance(ctx, values)
	if err != nil {
		return fmt.Errorf("task %s: %w", task.Name, err)
	}
	object.SetAnnotations(nil)
	objects[title(object)] = object
	return nil
}

// title returns kind, group and name of an object, for the output.
func title(object *unstructured.Unstructured) string {
	if group := object.GroupVersionKind().Group; group != "" {
		return fmt.Sprintf("%s.%s %s", object.GetKind(), group, object.GetName())
	}
	return fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
}

// pipes returns example names for the objects that Pipe tasks would create.
func (r rendering) pipes() map[string]string {
	names := map[string]string{}
	for _, task := range r.version.Spec.Tasks {
		for _, file := range task.Spec.Pipe {
			names[file.Key] = r.instance.Name + "-" + strings.ToLower(file.Key)
		}
	}
	return names
}
