package kudo

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/decision"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/operator/render"
	"holdfast.dev/holdfast/parameters"
)

// tree judges the Instances of dependencies, which a plan of an Instance creates and changes. The
// plan would find a refusal only after the Instance itself has its new version.
type tree struct {
	server *server
	// packages are packages that the server may not have yet.
	packages []*pack.Package
}

// version returns a function that reads the OperatorVersion with a key, of a package or of the
// server.
func (t *tree) version(ctx context.Context) func(key string) (*api.OperatorVersion, error) {
	return func(key string) (*api.OperatorVersion, error) {
		for _, p := range t.packages {
			if p.VersionName() == key {
				_, version := p.Resources(t.server.namespace)
				return version, nil
			}
		}
		return t.server.version(ctx, key)
	}
}

// judge returns the refusals of all Instances that the plan of a decision about an Instance
// creates or changes, and of those that their plans do. owners are the names of the Instances
// above this one. It returns none if the decision itself is a refusal.
func (t *tree) judge(
	ctx context.Context, decided parameters.Decision, instance *api.Instance, owners []string,
) ([]parameters.Refusal, error) {
	if !decided.Accepted() || decided.Plan == "" || len(owners) >= maxDepth {
		return nil, nil
	}
	version, err := t.version(ctx)(instance.VersionKey())
	if err != nil || version == nil {
		return nil, err
	}
	values := decided.Values
	if values == nil {
		values = instance.Spec.Parameters
	}
	var all []parameters.Refusal
	for task, data := range (rendering{instance, version, values}).tasks([]string{decided.Plan}) {
		if task.Kind != api.KudoOperatorTask {
			continue
		}
		refusals, err := t.dependency(ctx, dependencyTask{task.Spec, version, data}, append(slices.Clone(owners), instance.Name))
		if err != nil {
			return nil, fmt.Errorf("operator version %s: task %s: %w", version.Name, task.Name, err)
		}
		all = append(all, refusals...)
	}
	return all, nil
}

// refusedInstall returns an error with the refusals of the Instances that the plan of a new
// Instance creates or changes; nil if there are none.
func (t *tree) refusedInstall(ctx context.Context, decided parameters.Decision, instance *api.Instance) error {
	refusals, err := t.judge(ctx, decided, instance, nil)
	if err != nil {
		return err
	}
	return refused("install", parameters.Decision{Refusals: refusals})
}

// dependencyTask is a task of kind KudoOperator with the data of its templates.
type dependencyTask struct {
	spec    api.TaskSpec
	version *api.OperatorVersion
	data    render.Values
}

// dependency returns the refusals of the Instance that a task applies, and of the Instances below
// it.
func (t *tree) dependency(ctx context.Context, task dependencyTask, owners []string) ([]parameters.Refusal, error) {
	key, err := t.selected(ctx, task.spec)
	if err != nil || key == "" {
		return nil, err
	}
	object, err := render.Dependency{Task: task.spec, OperatorVersion: key, Templates: task.version.Spec.Templates}.Instance(ctx, task.data)
	if err != nil {
		return nil, err
	}
	wanted := &api.Instance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, wanted); err != nil {
		return nil, err
	}
	existing := &api.Instance{}
	err = t.server.get(ctx, instances, wanted.Name, existing)
	switch {
	case apierrors.IsNotFound(err):
		existing, wanted.Namespace = nil, t.server.namespace
	case err != nil:
		return nil, err
	default:
		if wanted, err = applied(existing, wanted); err != nil {
			return nil, fmt.Errorf("instance %s: %w", existing.Name, err)
		}
	}
	decided, err := decision.Review{Old: existing, New: wanted, Version: t.version(ctx)}.Judge()
	if err != nil {
		return nil, fmt.Errorf("instance %s: %w", wanted.Name, err)
	}
	for i := range decided.Refusals {
		decided.Refusals[i].Message = fmt.Sprintf("instance %s, on which %s depends: %s",
			wanted.Name, owners[len(owners)-1], decided.Refusals[i].Message)
	}
	below, err := t.judge(ctx, decided, wanted, owners)
	return append(decided.Refusals, below...), err
}

// selected returns the key of the OperatorVersion that a task selects, "" if there is none. The
// plan reports that and waits for one.
func (t *tree) selected(ctx context.Context, task api.TaskSpec) (string, error) {
	if task.OperatorVersion == "" {
		var list api.OperatorVersionList
		if err := t.server.list(ctx, operatorVersions, &list); err != nil {
			return "", err
		}
		newest := api.Newest(list.Items, task)
		if newest == nil {
			return "", nil
		}
		return newest.Name, nil
	}
	key := api.OperatorVersionName(task.Package, task.AppVersion, task.OperatorVersion)
	version, err := t.version(ctx)(key)
	if err != nil || version == nil {
		return "", err
	}
	return key, nil
}

// applied returns an existing Instance as it is after a plan has applied the wanted one. The
// server removes the parameters that only an earlier plan has applied. A running plan of the
// Instance is left out: the plan of its owner waits for it.
func applied(existing, wanted *api.Instance) (*api.Instance, error) {
	existing.Spec.PlanExecution = api.PlanExecution{}
	after := existing.DeepCopy()
	after.SetVersionKey(wanted.VersionKey())
	for name := range existing.Spec.Parameters {
		removed, err := onlyApplied(existing.ManagedFields, fieldpath.MakePathOrDie("spec", "parameters", name))
		if err != nil {
			return nil, err
		}
		if removed {
			delete(after.Spec.Parameters, name)
		}
	}
	if after.Spec.Parameters == nil {
		after.Spec.Parameters = map[string]string{}
	}
	for name, text := range wanted.Spec.Parameters {
		after.Spec.Parameters[name] = text
	}
	api.RemoveAnnotation(after, api.ConsentAnnotation)
	if consent, given := wanted.Annotations[api.ConsentAnnotation]; given {
		api.SetAnnotation(after, api.ConsentAnnotation, consent)
	}
	records, err := api.Records(existing)
	if err == nil && existing.VersionKey() != wanted.VersionKey() && api.LastRecord(records, wanted.VersionKey()) >= 0 {
		api.RequestRollback(after, wanted.VersionKey())
	}
	return after, err
}

// onlyApplied reports whether plans applied a field, and no other manager owns it.
func onlyApplied(managed []metav1.ManagedFieldsEntry, field fieldpath.Path) (bool, error) {
	byPlan := false
	for _, entry := range managed {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields fieldpath.Set
		if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return false, fmt.Errorf("managedFields of %s: %w", entry.Manager, err)
		}
		if !fields.Has(field) {
			continue
		}
		if entry.Manager != api.PlanManager || entry.Operation != metav1.ManagedFieldsOperationApply {
			return false, nil
		}
		byPlan = true
	}
	return byPlan, nil
}
