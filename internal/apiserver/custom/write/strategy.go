package write

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/update"
	"holdfast.dev/holdfast/internal/definition"
)

// Strategy prepares and validates the objects of one version for the registry store. The objects conform already.
type Strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	Judge
}

var (
	_ rest.RESTCreateStrategy = Strategy{}
	_ rest.RESTUpdateStrategy = Strategy{}
	_ rest.RESTDeleteStrategy = Strategy{}
)

// NewStrategy returns the strategy of a version.
func NewStrategy(judge Judge, typer runtime.ObjectTyper) Strategy {
	return Strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, Judge: judge}
}

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s Strategy) NamespaceScoped() bool { return s.Version.Kind.Namespaced() }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (Strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (Strategy) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize implements rest.RESTCreateStrategy.
func (Strategy) Canonicalize(runtime.Object) {}

// PrepareForCreate implements rest.RESTCreateStrategy.
func (Strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	object.From(obj).SetGeneration(1)
}

// PrepareForUpdate implements rest.RESTUpdateStrategy. It increments the generation if anything but metadata changed.
func (s Strategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	updated, old := object.From(newObj), object.From(oldObj)
	generation := old.GetGeneration()
	if !apiequality.Semantic.DeepEqual(definition.WithoutMetadata(updated.Object), definition.WithoutMetadata(old.Object)) {
		generation++
	}
	updated.SetGeneration(generation)
	s.Ownership.Prepare(ctx, s.ownedUpdate(updated, old))
}

// Validate implements rest.RESTCreateStrategy.
func (s Strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	u := object.From(obj)
	errs := s.validateKind(u)
	errs = append(errs, validation.ValidateObjectMetaAccessor(u, s.NamespaceScoped(), validation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	return append(errs, s.validate(ctx, u, nil, s.Version.Compiled.ValidateStored)...)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s Strategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, s.checkOwnership, s.validateUpdate)
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (Strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return unqualified(object.From(obj).GetFinalizers(), nil)
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (Strategy) WarningsOnUpdate(_ context.Context, newObj, oldObj runtime.Object) []string {
	return unqualified(object.From(newObj).GetFinalizers(), object.From(oldObj).GetFinalizers())
}

// unqualified warns about added finalizers without a domain, in the words of Kubernetes.
func unqualified(finalizers, old []string) []string {
	added := slices.DeleteFunc(slices.Clone(finalizers), func(name string) bool { return slices.Contains(old, name) })
	slices.Sort(added)
	var warnings []string
	for _, name := range slices.Compact(added) {
		at := fmt.Sprintf("metadata.finalizers: %q: ", name)
		for _, wrong := range apivalidation.IsQualifiedName(name) {
			warnings = append(warnings, at+wrong)
		}
		switch {
		case strings.Contains(name, "/") || slices.Contains(standardFinalizers, name):
		case strings.Contains(name, "."):
			warnings = append(warnings, at+"prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers")
		default:
			warnings = append(warnings, at+"prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers")
		}
	}
	return warnings
}

// standardFinalizers are the finalizers of Kubernetes itself, which have no domain.
var standardFinalizers = []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, string(corev1.FinalizerKubernetes)}
