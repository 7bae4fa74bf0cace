package custom

import (
	"context"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/apiserver/subresource"
	"holdfast.dev/holdfast/apiserver/update"
	"holdfast.dev/holdfast/definition"
)

// strategy prepares and validates the objects of one version.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	version    *version
	selectable []selectable
}

// selectable is a field that clients can use in a field selector.
type selectable struct {
	name string
	path *jsonpath.JSONPath
}

var (
	_ rest.RESTCreateStrategy  = strategy{}
	_ rest.RESTUpdateStrategy  = strategy{}
	_ rest.RESTDeleteStrategy  = strategy{}
	_ rest.ResetFieldsStrategy = strategy{}
)

func newStrategy(v *version) strategy {
	s := strategy{ObjectTyper: newTyper(v.resource.server.scheme), NameGenerator: names.SimpleNameGenerator, version: v}
	for _, f := range v.spec.SelectableFields {
		path := jsonpath.New(f.JSONPath).AllowMissingKeys(true)
		if err := path.Parse("{" + f.JSONPath + "}"); err == nil {
			s.selectable = append(s.selectable, selectable{name: strings.TrimPrefix(f.JSONPath, "."), path: path})
		}
	}
	return s
}

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s strategy) NamespaceScoped() bool { return s.version.resource.namespaced() }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize implements rest.RESTCreateStrategy.
func (strategy) Canonicalize(runtime.Object) {}

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	u := content(obj)
	if s.version.compiled.HasStatus() {
		delete(u.Object, "status")
	}
	u.SetGeneration(1)
}

// PrepareForUpdate implements rest.RESTUpdateStrategy. It increments the generation if
// anything but metadata changed. If the version has a status subresource, it keeps the
// stored status.
func (s strategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	updated, old := content(newObj), content(oldObj)
	s.version.keepStatus(updated, old)
	generation := old.GetGeneration()
	if !apiequality.Semantic.DeepEqual(definition.WithoutMetadata(updated.Object), definition.WithoutMetadata(old.Object)) {
		generation++
	}
	updated.SetGeneration(generation)
	s.version.resource.server.config.Ownership.Prepare(ctx, s.version.ownedUpdate(updated, old))
}

// keepStatus restores the stored status if the version has a status subresource. A write
// to the resource itself must not change the status then.
func (v *version) keepStatus(updated, old *object) {
	if !v.compiled.HasStatus() {
		return
	}
	if status, ok := old.Object["status"]; ok {
		updated.Object["status"] = status
	} else {
		delete(updated.Object, "status")
	}
}

// Validate implements rest.RESTCreateStrategy.
func (s strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	u := content(obj)
	errs := s.version.validateKind(u)
	errs = append(errs, validation.ValidateObjectMetaAccessor(u, s.NamespaceScoped(), validation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	return append(errs, s.version.validateCreate(ctx, u)...)
}

// validateKind returns an error if the kind or the apiVersion of an object is not that of
// the resource in the URL.
func (v *version) validateKind(u *object) field.ErrorList {
	var errs field.ErrorList
	if want := v.resource.kind.Kind; u.GetKind() != want {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), "must be "+want))
	}
	if want := v.groupVersion().String(); u.GetAPIVersion() != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), "must be "+want))
	}
	return errs
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s strategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, s.version.checkOwnership, s.version.validateUpdate)
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if !s.version.compiled.HasStatus() {
		return nil
	}
	return subresource.ResetFields(subresource.TopLevel("status"), s.version.groupVersion())
}

func (s strategy) predicate(label labels.Selector, f fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: f, GetAttrs: s.attributes}
}

// attributes returns the labels and the fields that label and field selectors match.
func (s strategy) attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	u, ok := obj.(*object)
	if !ok {
		return nil, nil, fmt.Errorf("unexpected object %T", obj)
	}
	set := fields.Set{"metadata.name": u.GetName()}
	if s.NamespaceScoped() {
		set["metadata.namespace"] = u.GetNamespace()
	}
	for _, f := range s.selectable {
		set[f.name] = ""
		found, err := f.path.FindResults(u.Object)
		if err == nil && len(found) > 0 && len(found[0]) > 0 {
			set[f.name] = fmt.Sprint(found[0][0].Interface())
		}
	}
	return u.GetLabels(), set, nil
}
