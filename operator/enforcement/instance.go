package enforcement

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/operator/admission"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// decide makes of a write what admission decides, or refuses it.
func (j judge) decide(ctx context.Context, w write, newUID func() types.UID) error {
	review := admission.Review{Requester: w.requester, NewUID: newUID}
	var unread error
	review.Version = func(name string) (*api.OperatorVersion, error) {
		version, err := j.versions(ctx, w.namespace, name)
		unread = err
		return version, err
	}
	var err error
	if review.New, err = instance(w.newObj); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if w.oldObj != nil {
		if review.Old, err = instance(w.oldObj); err != nil {
			return err
		}
		if err := resumeRollback(review); err != nil {
			return err
		}
	}
	result, err := review.Decide()
	switch {
	case unread != nil:
		return unread
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	case !result.Decision.Accepted():
		return refusal(w, result.Decision)
	}
	return store(w.newObj, result.Instance)
}

// resumeRollback brings back the wish to roll back, which admission takes off, where
// admission sees its own work again: when a webhook of a user has the whole of it
// run once more, and when a webhook confirms what it completed. It is known by its
// run, its requester and the record that is gone.
func resumeRollback(review admission.Review) error {
	target := review.New.Spec.OperatorVersion.Name
	run := review.New.Spec.PlanExecution.UID
	if _, asked := review.New.Annotations[api.RollbackAnnotation]; asked || target == review.Old.Spec.OperatorVersion.Name ||
		run == "" || run == review.Old.Spec.PlanExecution.UID {
		return nil
	}
	by, found, err := api.RequestedBy(review.New)
	if err != nil || !found || !apiequality.Semantic.DeepEqual(by, review.Requester) {
		return nil //nolint:nilerr // what a client wrote there is replaced, and no matter
	}
	records, err := api.Records(review.Old)
	if err != nil {
		return err
	}
	last := len(records) - 1
	if last < 0 || records[last].OperatorVersion != target {
		return nil
	}
	rolledBack := &api.Instance{}
	if err := api.SetRecords(rolledBack, records[:last]); err != nil {
		return err
	}
	if rolledBack.Annotations[api.RecordsAnnotation] == review.New.Annotations[api.RecordsAnnotation] {
		review.New.Annotations = maps.Clone(review.New.Annotations)
		api.RequestRollback(review.New, target)
	}
	return nil
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
func refusal(w write, decision parameters.Decision) error {
	name := w.newObj.GetName()
	if decision.Conflict() {
		return apierrors.NewConflict(w.resource, name, errors.New(decision.Refusals[0].Message))
	}
	var all field.ErrorList
	for _, refused := range decision.Refusals {
		path := field.NewPath("spec")
		if refused.Parameter != "" {
			path = path.Child("parameters").Key(refused.Parameter)
		}
		all = append(all, field.Forbidden(path, refused.Message))
	}
	return apierrors.NewInvalid(w.kind, name, all)
}
