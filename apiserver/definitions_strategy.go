package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/guard"
	"holdfast.dev/holdfast/definition"
)

// definitionStrategy is what the registry asks about CustomResourceDefinitions;
// package definition has the answers.
type definitionStrategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	guard *guard.Guard
}

var (
	_ rest.RESTCreateStrategy  = definitionStrategy{}
	_ rest.RESTUpdateStrategy  = definitionStrategy{}
	_ rest.RESTDeleteStrategy  = definitionStrategy{}
	_ rest.ResetFieldsStrategy = definitionStrategy{}
)

// write is the request under way. oldObj is nil when a definition is created.
func (definitionStrategy) write(ctx context.Context, oldObj runtime.Object) definition.Write {
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
func (definitionStrategy) NamespaceScoped() bool { return false }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (definitionStrategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (definitionStrategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize implements rest.RESTCreateStrategy; Prepare did it already.
func (definitionStrategy) Canonicalize(runtime.Object) {}

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s definitionStrategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	prepareDefinition(ctx, s.write(ctx, nil), obj)
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s definitionStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	prepareDefinition(ctx, s.write(ctx, oldObj), newObj)
	s.guard.Prepare(ctx, s.update(newObj, oldObj))
}

// update is an update of a definition.
func (s definitionStrategy) update(newObj, oldObj runtime.Object) guard.Update {
	return guard.Update{Kind: definition.Kind, Type: s.guard.DefinitionType(), Live: oldObj, New: newObj}
}

func prepareDefinition(ctx context.Context, w definition.Write, obj runtime.Object) {
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return
	}
	// Decoding has dropped unknown keywords and said so; what is left of them was
	// merged in by a patch, which is decoded by the library.
	for _, path := range definition.DropUnknown(crd) {
		warning.AddWarning(ctx, "", fmt.Sprintf("unknown field %q", path))
	}
	w.Prepare(crd)
}

// Validate implements rest.RESTCreateStrategy.
func (s definitionStrategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return validateDefinition(ctx, s.write(ctx, nil), obj)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s definitionStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return append(validateDefinition(ctx, s.write(ctx, oldObj), newObj), s.guard.Check(ctx, s.update(newObj, oldObj))...)
}

func validateDefinition(ctx context.Context, w definition.Write, obj runtime.Object) field.ErrorList {
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("unexpected object %T", obj))}
	}
	return w.Validate(ctx, crd)
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (s definitionStrategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	if crd, ok := obj.(*definition.CustomResourceDefinition); ok {
		return s.write(ctx, nil).Warnings(crd)
	}
	return nil
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (s definitionStrategy) WarningsOnUpdate(ctx context.Context, newObj, oldObj runtime.Object) []string {
	if crd, ok := newObj.(*definition.CustomResourceDefinition); ok {
		return s.write(ctx, oldObj).Warnings(crd)
	}
	return nil
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (definitionStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return definitionFields("status")
}

func definitionFields(fields ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range fields {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		definition.GroupName + "/" + definition.V1:      set,
		definition.GroupName + "/" + definition.V1beta1: set,
	}
}

// definitionStatusStrategy lets a write change the status and nothing else.
type definitionStatusStrategy struct{ definitionStrategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s definitionStatusStrategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	if crd, ok := newObj.(*definition.CustomResourceDefinition); ok {
		s.write(ctx, oldObj).PrepareStatus(crd)
	}
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s definitionStatusStrategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	if crd, ok := newObj.(*definition.CustomResourceDefinition); ok {
		return s.write(ctx, oldObj).ValidateStatus(ctx, crd)
	}
	return nil
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (definitionStatusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (definitionStatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return definitionFields("spec", "metadata")
}
