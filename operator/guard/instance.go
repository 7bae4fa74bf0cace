package guard

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"holdfast.dev/holdfast/operator/admission"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// decide makes of a write what admission decides, or refuses it.
func (g *Guard) decide(ctx context.Context, a apiadmission.Attributes, obj *unstructured.Unstructured) error {
	review := admission.Review{Requester: requester(a.GetUserInfo()), NewUID: uuid.NewUUID}
	var unread error
	review.Version = func(name string) (*api.OperatorVersion, error) {
		version, err := g.versions(ctx, a.GetNamespace(), name)
		unread = err
		return version, err
	}
	var err error
	if review.New, err = instance(obj); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if old, isObject := a.GetOldObject().(*unstructured.Unstructured); isObject && a.GetOperation() == apiadmission.Update {
		if review.Old, err = instance(old); err != nil {
			return err
		}
	}
	remember(a, review.New)
	result, err := review.Decide()
	switch {
	case unread != nil:
		return unread
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	case !result.Decision.Accepted():
		return refusal(a, obj.GetName(), result.Decision)
	}
	return store(obj, result.Instance)
}

// remember keeps the wish to roll back, which admission takes off, for the case
// that a webhook of a user has the whole of admission run once more.
func remember(a apiadmission.Attributes, instance *api.Instance) {
	context := a.GetReinvocationContext()
	if to, asked := context.Value(Name).(string); asked && context.IsReinvoke() {
		annotations := maps.Clone(instance.Annotations)
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[api.RollbackAnnotation] = to
		instance.Annotations = annotations
		return
	}
	if to, asked := instance.Annotations[api.RollbackAnnotation]; asked {
		context.SetValue(Name, to)
	}
}

func requester(info user.Info) api.Requester {
	if info == nil {
		return api.Requester{}
	}
	return api.Requester{Username: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: info.GetExtra()}
}

func instance(obj *unstructured.Unstructured) (*api.Instance, error) {
	read := &api.Instance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, read); err != nil {
		return nil, fmt.Errorf("instance %s: %w", obj.GetName(), err)
	}
	return read, nil
}

// store writes what admission decides about into the object, and nothing else.
func store(obj *unstructured.Unstructured, decided *api.Instance) error {
	if !maps.Equal(obj.GetAnnotations(), decided.Annotations) {
		obj.SetAnnotations(decided.Annotations)
	}
	spec, isObject := obj.Object["spec"].(map[string]any)
	if !isObject {
		return apierrors.NewBadRequest("spec: required")
	}
	delete(spec, "parameters")
	if len(decided.Spec.Parameters) > 0 {
		values := make(map[string]any, len(decided.Spec.Parameters))
		for name, value := range decided.Spec.Parameters {
			values[name] = value
		}
		spec["parameters"] = values
	}
	execution, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&decided.Spec.PlanExecution)
	if err != nil {
		return err
	}
	delete(spec, "planExecution")
	if len(execution) > 0 {
		spec["planExecution"] = execution
	}
	return nil
}

// refusal is the answer of the API: every reason, with the field it is about.
func refusal(a apiadmission.Attributes, name string, decision parameters.Decision) error {
	if decision.Conflict() {
		return apierrors.NewConflict(a.GetResource().GroupResource(), name, errors.New(decision.Refusals[0].Message))
	}
	var all field.ErrorList
	for _, refused := range decision.Refusals {
		path := field.NewPath("spec")
		if refused.Parameter != "" {
			path = path.Child("parameters").Key(refused.Parameter)
		}
		all = append(all, field.Forbidden(path, refused.Message))
	}
	return apierrors.NewInvalid(a.GetKind().GroupKind(), name, all)
}
