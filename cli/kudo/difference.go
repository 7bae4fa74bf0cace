package kudo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/render"
)

// rendering is a version of an operator with values, as an Instance has them.
type rendering struct {
	instance *api.Instance
	version  *api.OperatorVersion
	values   map[string]string
}

// objects are those that are there after plans have run one after the other, by
// a name for people. Plans that the version does not have do nothing.
func (r rendering) objects(ctx context.Context, plans []string) (map[string]*unstructured.Unstructured, error) {
	there := map[string]*unstructured.Unstructured{}
	params := r.version.Definitions().Effective(r.values)
	for _, plan := range plans {
		for _, phase := range r.version.Spec.Plans[plan].Phases {
			for _, step := range phase.Steps {
				values := render.Values{
					Name: r.instance.Name, Namespace: r.instance.Namespace, OperatorName: r.version.Spec.Operator.Name,
					OperatorVersion: r.version.Spec.Version, AppVersion: r.version.Spec.AppVersion,
					PlanName: plan, PhaseName: phase.Name, StepName: step.Name, Params: params, Pipes: r.pipes(),
				}
				for _, name := range step.Tasks {
					if task := r.version.Spec.Task(name); task != nil {
						if err := r.task(ctx, task, values, there); err != nil {
							return nil, err
						}
					}
				}
			}
		}
	}
	return there, nil
}

// task does to the objects what the task would do on a server.
func (r rendering) task(ctx context.Context, task *api.Task, values render.Values, there map[string]*unstructured.Unstructured) error {
	apply := task.Kind == api.ApplyTask
	switch task.Kind {
	case api.ApplyTask, api.DeleteTask:
	case api.KudoOperatorTask:
		return r.dependency(ctx, task, values, there)
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
		objects, err := render.Objects(text)
		if err != nil {
			return fmt.Errorf("templates/%s: %w", template, err)
		}
		for _, object := range objects {
			if apply {
				there[titled(object)] = object
			} else {
				delete(there, titled(object))
			}
		}
	}
	return nil
}

// dependency has the Instance of another operator among the objects.
func (r rendering) dependency(ctx context.Context, task *api.Task, values render.Values, there map[string]*unstructured.Unstructured) error {
	version := api.OperatorVersionName(task.Spec.Package, task.Spec.AppVersion, task.Spec.OperatorVersion)
	if task.Spec.OperatorVersion == "" {
		version = "the newest of " + task.Spec.Package
	}
	object, err := render.Dependency{Task: task.Spec, OperatorVersion: version, Templates: r.version.Spec.Templates}.Instance(ctx, values)
	if err != nil {
		return fmt.Errorf("task %s: %w", task.Name, err)
	}
	object.SetAnnotations(nil)
	there[titled(object)] = object
	return nil
}

// titled is the name of an object for people.
func titled(object *unstructured.Unstructured) string {
	if group := object.GroupVersionKind().Group; group != "" {
		return fmt.Sprintf("%s.%s %s", object.GetKind(), group, object.GetName())
	}
	return fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
}

// pipes are names for what Pipe tasks would store.
func (r rendering) pipes() map[string]string {
	names := map[string]string{}
	for _, task := range r.version.Spec.Tasks {
		for _, file := range task.Spec.Pipe {
			names[file.Key] = r.instance.Name + "-" + strings.ToLower(file.Key)
		}
	}
	return names
}

// unified is the difference of two objects, of which one may be nil; "" if there
// is none.
func unified(name string, oldObj, newObj *unstructured.Unstructured) (string, error) {
	hide(oldObj, newObj)
	oldText, err := lines(oldObj)
	if err != nil {
		return "", err
	}
	newText, err := lines(newObj)
	if err != nil {
		return "", err
	}
	from, to := name, name
	if oldObj == nil {
		from = "/dev/null"
	}
	if newObj == nil {
		to = "/dev/null"
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: oldText, B: newText, FromFile: from, ToFile: to, Context: 3})
}

func lines(object *unstructured.Unstructured) ([]string, error) {
	if object == nil {
		return nil, nil
	}
	text, err := yaml.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	return slices.Collect(strings.Lines(string(text))), nil
}

// hide takes the values out of Secrets, and leaves that they differ.
func hide(oldObj, newObj *unstructured.Unstructured) {
	for _, section := range []string{"data", "stringData"} {
		before, after := secret(oldObj, section), secret(newObj, section)
		for key, value := range after {
			other, there := before[key]
			after[key] = "(hidden)"
			if there && fmt.Sprint(other) != fmt.Sprint(value) {
				after[key] = "(hidden, another value)"
			}
		}
		for key := range before {
			before[key] = "(hidden)"
		}
	}
}

// secret is a section of a Secret that has values.
func secret(object *unstructured.Unstructured, section string) map[string]any {
	if object == nil || object.GetKind() != "Secret" || object.GroupVersionKind().Group != "" {
		return nil
	}
	values, _ := object.Object[section].(map[string]any)
	return values
}
