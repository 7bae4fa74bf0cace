package definitions

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/apiserver/update"
	"holdfast.dev/holdfast/internal/definition"
)

// strategy prepares and validates CustomResourceDefinitions as package definition
// says.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	ownership *fieldownership.Checker
	// policies has the rules of ImmutabilityPolicies.
	policies *policies.Rules
}

var (
	_ rest.RESTCreateStrategy  = strategy{}
	_ rest.RESTUpdateStrategy  = strategy{}
	_ rest.RESTDeleteStrategy  = strategy{}
	_ rest.ResetFieldsStrategy = strategy{}
)

// write describes the request to package definition. oldObj is nil if the request
// creates a definition.
func (strategy) write(ctx context.Context, oldObj runtime.Object) definition.Write {
	w := definition.Write{APIVersion: definition.V1}
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok && info.APIVersion == definition.V1beta1 {
		w.APIVersion = definition.V1beta1
	}
	if old, ok := oldObj.(*definition.CustomResourceDefinition); ok {
		w.Old = old
	}
	return w
}

// NamespaceScoped implements rest.RESTCreateStrategy.
func (strategy) NamespaceScoped() bool { return false }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize implements rest.RESTCreateStrategy. It sets the kind, which the stored object has and an applied one has not: the store
// compares both, to see that a write changes nothing but the times of managers.
func (strategy) Canonicalize(obj runtime.Object) {
	obj.GetObjectKind().SetGroupVersionKind(definition.Kind)
}

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	prepare(ctx, s.write(ctx, nil), obj)
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s strategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	w := s.write(ctx, oldObj)
	prepare(ctx, w, newObj)
	if crd, ok := newObj.(*definition.CustomResourceDefinition); ok {
		reopen(ctx, crd, w.Old)
		recheck(crd, w.Old)
	}
	s.ownership.Prepare(ctx, s.owned(newObj, oldObj))
}

// owned describes an update to the checker of field ownership.
func (s strategy) owned(newObj, oldObj runtime.Object) fieldownership.Update {
	return fieldownership.Update{Kind: definition.Kind, Type: s.ownership.DefinitionType(), Live: oldObj, New: newObj}
}

func prepare(ctx context.Context, w definition.Write, obj runtime.Object) {
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return
	}
	// The decoder has dropped unknown keywords and reported them. Those that are left came
	// with a patch: k8s.io/apiserver decodes patches without that decoder.
	for _, path := range definition.DropUnknown(crd) {
		warning.AddWarning(ctx, "", fmt.Sprintf("unknown field %q", path))
	}
	w.Prepare(crd)
}

// Validate implements rest.RESTCreateStrategy.
func (s strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return validate(ctx, s.write(ctx, nil), obj)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s strategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, s.validateUpdate, s.checkPolicies, s.checkOwnership)
}

func (s strategy) validateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	errs := validate(ctx, s.write(ctx, oldObj), newObj)
	for _, err := range errs {
		if err.Detail == validation.FieldImmutableErrorMsg {
			_ = err.WithOrigin("immutable") // the library of Kubernetes sets no origin
		}
	}
	return errs
}

// checkPolicies asks the policies in files: those that are stored cannot guard definitions.
func (s strategy) checkPolicies(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return s.policies.CheckBuiltIn(ctx, policies.BuiltIn{Resource: Resource, Kind: definition.Kind, New: newObj, Old: oldObj})
}

func (s strategy) checkOwnership(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return s.ownership.Check(ctx, s.owned(newObj, oldObj))
}

func validate(ctx context.Context, w definition.Write, obj runtime.Object) field.ErrorList {
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("unexpected object %T", obj))}
	}
	return w.Validate(ctx, crd)
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (s strategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	if crd, ok := obj.(*definition.CustomResourceDefinition); ok {
		return s.write(ctx, nil).Warnings(crd)
	}
	return nil
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (s strategy) WarningsOnUpdate(ctx context.Context, newObj, oldObj runtime.Object) []string {
	if crd, ok := newObj.(*definition.CustomResourceDefinition); ok {
		return s.write(ctx, oldObj).Warnings(crd)
	}
	return nil
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return subresource.ResetFields(subresource.TopLevel("status"), Versions...)
}

// statusStrategy lets a write change the status and, as upstream does, metadata. Annotations with rules are judged as in an update of the
// definition itself.
type statusStrategy struct{ strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s statusStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	if crd, ok := newObj.(*definition.CustomResourceDefinition); ok {
		w := s.write(ctx, oldObj)
		w.PrepareStatus(crd)
		recheck(crd, w.Old)
	}
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s statusStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, s.validateStatus, s.checkPolicies)
}

func (s statusStrategy) validateStatus(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	if crd, ok := newObj.(*definition.CustomResourceDefinition); ok {
		return s.write(ctx, oldObj).ValidateStatus(ctx, crd)
	}
	return nil
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy. Most writes of the status change nothing that a warning is about.
func (s statusStrategy) WarningsOnUpdate(ctx context.Context, newObj, oldObj runtime.Object) []string {
	crd, stored, err := pair(newObj, oldObj)
	if err != nil || definition.SameForObjects(stored, crd) {
		return nil
	}
	return s.strategy.WarningsOnUpdate(ctx, newObj, oldObj)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return subresource.ResetFields(subresource.TopLevel("spec", "metadata"), Versions...)
}
