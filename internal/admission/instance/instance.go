package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/operator/decision"
	"holdfast.dev/holdfast/internal/protection"
	"holdfast.dev/holdfast/parameters"
)

// decide changes the written Instance into what package operator/decision decides, or
// returns the refusal as an API error.
func (j Judge) decide(ctx context.Context, w Write, newUID func() types.UID) error {
	review := decision.Review{Requester: w.Requester, Controller: j.controller(), Keys: j.Keys, NewUID: newUID}
	// versionErr is an error of the server, and decide returns it as such. The same holds
	// for the keys. All other errors of Decide are about the written object and become a
	// BadRequest.
	var versionErr error
	review.Version = func(key string) (*api.OperatorVersion, error) {
		namespace, name := api.SplitVersionKey(key, w.Namespace)
		version, err := j.Versions(ctx, namespace, name)
		versionErr = err
		return version, err
	}
	review.MayGet = func(key string) (bool, error) {
		namespace, name := api.SplitVersionKey(key, w.Namespace)
		allowed, err := j.MayGet(ctx, w.Requester, types.NamespacedName{Namespace: namespace, Name: name})
		versionErr = err
		return allowed, err
	}
	var err error
	if review.New, err = instance(w.New); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if review.New.Namespace == "" {
		review.New.Namespace = w.Namespace
	}
	if w.Old != nil {
		if review.Old, err = instance(w.Old); err != nil {
			return err
		}
		review.Old.Namespace = review.New.Namespace
		if err := resumeRollback(ctx, review); err != nil {
			return err
		}
		if err := resumeTakeOver(ctx, review); err != nil {
			return err
		}
	}
	result, err := review.Decide(ctx)
	switch {
	case versionErr != nil:
		return versionErr
	case errors.Is(err, authorship.ErrKeys):
		return connection.TryAgain(err, instances, "write")
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	case !result.Decision.Accepted():
		return j.refusal(ctx, w, result.Decision)
	}
	if review.Old != nil {
		warnOfRestored(ctx, review, result.Instance)
	}
	return copyDecided(w.New, result.Instance)
}

// warnOfRestored adds a warning to the answer if the client changed or removed annotations that
// admission alone sets. The annotations have other values in the stored Instance than the client
// sent.
func warnOfRestored(ctx context.Context, review decision.Review, stored *api.Instance) {
	var restored []string
	for _, name := range api.AdmissionAnnotations() {
		before, existed := review.Old.Annotations[name]
		sent := review.New.Annotations[name]
		if existed && sent != before && sent != stored.Annotations[name] {
			restored = append(restored, name)
		}
	}
	if len(restored) > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("only the server sets these annotations, and it has restored them: %s",
			strings.Join(restored, ", ")))
	}
}

// resumeRollback restores the rollback annotation on an Instance that admission has
// already completed. Admission removes the annotation when it completes a rollback, but
// it may see the result again: the API server runs admission once more if a webhook of a
// user asks for reinvocation, and the validating webhook confirms what the mutating one
// completed. Without the annotation the write would be refused as a downgrade.
//
// resumeRollback recognizes a completed rollback by three properties: it has a new run,
// its sealed record names the user that makes the write, and the record of the version and all
// later ones have been removed.
func resumeRollback(ctx context.Context, review decision.Review) error {
	target := review.New.VersionKey()
	run := review.New.Spec.PlanExecution.UID
	if _, asked := review.New.Annotations[api.RollbackAnnotation]; asked || target == review.Old.VersionKey() ||
		run == "" || run == review.Old.Spec.PlanExecution.UID {
		return nil
	}
	completed := review.New.DeepCopy()
	completed.UID = review.Old.UID // a client may leave it out
	record, err := review.Keys.Record(ctx, completed)
	if err != nil || !apiequality.Semantic.DeepEqual(record.Requester, review.Requester) {
		return nil //nolint:nilerr // a client wrote this annotation; admission replaces it
	}
	records, err := api.Records(review.Old)
	if err != nil {
		return err
	}
	at := api.LastRecord(records, target)
	if at < 0 {
		return nil
	}
	rolledBack := &api.Instance{}
	if err := api.SetRecords(rolledBack, records[:at]); err != nil {
		return err
	}
	if rolledBack.Annotations[api.RecordsAnnotation] == review.New.Annotations[api.RecordsAnnotation] {
		review.New.Annotations = maps.Clone(review.New.Annotations)
		api.RequestRollback(review.New, target)
	}
	return nil
}

// resumeTakeOver restores the annotation with which a user takes over values, on an Instance
// that admission has already completed. It recognizes a value that was taken over by the sealed
// record: the user that makes the write is its only author, and the value is not changed.
// Records are sealed for the values of an Instance, so a client gains nothing by sending an
// earlier one.
func resumeTakeOver(ctx context.Context, review decision.Review) error {
	if _, asked := review.New.Annotations[api.TakeOverAnnotation]; asked ||
		review.New.Annotations[api.SealedRecordAnnotation] == review.Old.Annotations[api.SealedRecordAnnotation] {
		return nil
	}
	completed := review.New.DeepCopy()
	completed.UID = review.Old.UID // a client may leave it out
	now, err := review.Keys.Record(ctx, completed)
	if err != nil {
		return nil //nolint:nilerr // a client wrote this annotation; admission replaces it
	}
	before, err := review.Keys.Record(ctx, review.Old)
	if err != nil && !errors.Is(err, authorship.ErrUnverified) {
		return err
	}
	var names []string
	for name, value := range review.Old.Spec.Parameters {
		taken := []authorship.User{review.Requester}
		if current, found := review.New.Spec.Parameters[name]; found && current == value &&
			apiequality.Semantic.DeepEqual(now.Authors[name], taken) && !apiequality.Semantic.DeepEqual(before.Authors[name], taken) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	review.New.Annotations = maps.Clone(review.New.Annotations)
	return api.RequestTakeOver(review.New, names)
}

// instance converts an object to an Instance.
func instance(obj *unstructured.Unstructured) (*api.Instance, error) {
	read := &api.Instance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, read); err != nil {
		return nil, fmt.Errorf("instance %s: %w", obj.GetName(), err)
	}
	return read, nil
}

// copyDecided copies the fields that admission decides about into the object: the
// annotations, the parameters and the plan execution. All other fields stay as the
// client sent them.
func copyDecided(obj *unstructured.Unstructured, decided *api.Instance) error {
	if !maps.Equal(obj.GetAnnotations(), decided.Annotations) {
		obj.SetAnnotations(decided.Annotations)
	}
	spec, isObject := obj.Object["spec"].(map[string]any)
	if !isObject {
		return apierrors.NewBadRequest("spec: required")
	}
	// Copies of an object share its spec, so change another one.
	spec = maps.Clone(spec)
	obj.Object["spec"] = spec
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

// refusal returns the API error of a refused write, with every reason and its field. The
// reasons show what the stored Instance contains only to a user that may get it.
func (j Judge) refusal(ctx context.Context, w Write, decision parameters.Decision) error {
	name := w.New.GetName()
	disclosed := w.Old == nil || j.Discloses(ctx, w.Requester, types.NamespacedName{Namespace: w.Namespace, Name: name})
	message := func(refused parameters.Refusal) string {
		if disclosed {
			return refused.Message
		}
		return refused.Rule
	}
	if decision.Conflict() {
		return apierrors.NewConflict(w.Resource, name, errors.New(message(decision.Refusals[0])))
	}
	var all field.ErrorList
	for _, refused := range decision.Refusals {
		path := field.NewPath("spec")
		if refused.Parameter != "" {
			path = path.Child("parameters").Key(refused.Parameter)
		}
		if refused.Immutable {
			protection.Refuse(ctx, protection.ImmutableParameter, path.String())
		}
		all = append(all, field.Forbidden(path, message(refused)))
	}
	return apierrors.NewInvalid(w.Kind, name, all)
}
