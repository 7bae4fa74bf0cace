package builtin

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/frozen"
	"holdfast.dev/holdfast/internal/native/rules"
	"holdfast.dev/holdfast/internal/native/warnings"
	"holdfast.dev/holdfast/internal/protection"
	"holdfast.dev/holdfast/internal/replacement"
)

// strategy prepares and validates the objects of one built-in kind.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind native.Kind
	// ownership checks the owners of the fields that an update changes.
	ownership *fieldownership.Checker
	// policies has the rules of ImmutabilityPolicies.
	policies *policies.Rules
}

var (
	_ rest.RESTCreateStrategy              = strategy{}
	_ rest.RESTUpdateStrategy              = strategy{}
	_ rest.RESTGracefulDeleteStrategy      = strategy{}
	_ rest.GarbageCollectionDeleteStrategy = strategy{}
	_ rest.ResetFieldsStrategy             = strategy{}
)

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s strategy) NamespaceScoped() bool { return s.kind.Scope == native.Namespaced }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (s strategy) AllowCreateOnUpdate(context.Context) bool { return s.kind.CreateOnUpdate }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (s strategy) AllowUnconditionalUpdate(context.Context) bool { return !s.kind.ConditionalUpdate }

// Canonicalize implements rest.RESTCreateStrategy. It sets the kind, which the stored object has and an applied one has not: the store
// compares both, to see that a write changes nothing but the times of managers.
func (s strategy) Canonicalize(obj runtime.Object) {
	obj.GetObjectKind().SetGroupVersionKind(s.kind.GroupVersionKind())
}

// PrepareForCreate implements rest.RESTCreateStrategy: clients do not set the status
// of a new object, and generations start at one.
func (s strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	// A node agent registers its Node together with the status.
	if s.kind.Status && s.kind.Resource != "nodes" {
		statusOf(obj).SetZero()
	}
	keepUsage(ctx, obj)
	native.DropDisabled(obj, nil)
	if pod, ok := obj.(*corev1.Pod); ok {
		for _, text := range native.ConvertAppArmor(pod) {
			warning.AddWarning(ctx, "", text)
		}
	}
	if s.kind.PrepareCreate != nil {
		s.kind.PrepareCreate(obj)
	}
	if s.kind.Generation {
		objectMeta(obj).SetGeneration(1)
	}
}

// keepUsage gives a quota the status of the quota that it replaces, as an update does. The status has the limits that admission enforces:
// without it, the quota would limit nothing until its usage is counted.
func keepUsage(ctx context.Context, obj runtime.Object) {
	quota, ok := obj.(*corev1.ResourceQuota)
	swap := replacement.From(ctx)
	if !ok || swap == nil {
		return
	}
	if old, ok := swap.Old.(*corev1.ResourceQuota); ok {
		old.Status.DeepCopyInto(&quota.Status)
	}
}

// Validate implements rest.RESTCreateStrategy.
func (s strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if event, ok := obj.(*corev1.Event); ok && requestGroup(ctx) == eventsv1.GroupName {
		return rules.ValidateNewEvent(event)
	}
	return rules.Validate(obj)
}

// requestGroup returns the API group that a request names.
func requestGroup(ctx context.Context) string {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok {
		return info.APIGroup
	}
	return ""
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return warnings.OnCreate(obj)
}

// PrepareForUpdate implements rest.RESTUpdateStrategy: a write to the main
// resource leaves status alone.
func (s strategy) PrepareForUpdate(ctx context.Context, newObj, oldObj runtime.Object) {
	if s.kind.Status {
		statusOf(newObj).Set(statusOf(oldObj))
	}
	native.DropDisabled(newObj, oldObj)
	if s.kind.PrepareUpdate != nil {
		s.kind.PrepareUpdate(newObj, oldObj)
	}
	if s.kind.Generation {
		newMeta, oldMeta := objectMeta(newObj), objectMeta(oldObj)
		generation := oldMeta.GetGeneration()
		if !sameContent(newObj, oldObj) || s.kind.Counts != nil && s.kind.Counts(newMeta, oldMeta) {
			generation++
		}
		newMeta.SetGeneration(generation)
	}
	s.ownership.Prepare(ctx, s.owned(newObj, oldObj))
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s strategy) ValidateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return update.Judge(ctx, newObj, oldObj, validate, checkFrozen, s.checkPolicies, s.checkOwnership)
}

func validate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	if event, ok := newObj.(*corev1.Event); ok && requestGroup(ctx) == eventsv1.GroupName {
		return rules.ValidateEventChange(event, oldObj.(*corev1.Event))
	}
	return rules.ValidateUpdate(newObj, oldObj)
}

func checkFrozen(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	config := frozen.CheckConfig(newObj, oldObj)
	if len(config) > 0 {
		protection.Refuse(ctx, protection.ImmutableConfig, protection.FieldsOf(config, func(*field.Error) bool { return true })...)
	}
	return append(frozen.CheckFields(newObj, oldObj), config...)
}

func (s strategy) checkPolicies(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return s.policies.CheckBuiltIn(ctx, policies.BuiltIn{
		Resource: s.kind.GroupResource(), Kind: s.kind.GroupVersionKind(), New: newObj, Old: oldObj,
	})
}

func (s strategy) checkOwnership(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return s.ownership.Check(ctx, s.owned(newObj, oldObj))
}

// owned describes an update to the checker of field ownership.
func (s strategy) owned(newObj, oldObj runtime.Object) fieldownership.Update {
	kind := s.kind.GroupVersionKind()
	return fieldownership.Update{Kind: kind, Type: s.ownership.Type(kind.GroupKind()), Live: oldObj, New: newObj}
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (strategy) WarningsOnUpdate(_ context.Context, newObj, oldObj runtime.Object) []string {
	return warnings.OnUpdate(newObj, oldObj)
}

// CheckGracefulDelete implements rest.RESTGracefulDeleteStrategy: it sets the grace
// period of a deletion, and returns false for a deletion without one.
func (s strategy) CheckGracefulDelete(_ context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	if s.kind.GracePeriod == nil || options == nil {
		return false
	}
	period := s.kind.GracePeriod(obj, options.GracePeriodSeconds)
	// Kubernetes treats a negative period as one second.
	if period < 0 {
		period = 1
	}
	options.GracePeriodSeconds = &period
	return true
}

// DefaultGarbageCollectionPolicy implements rest.GarbageCollectionDeleteStrategy.
func (s strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	switch s.kind.Dependents {
	case native.OrphanDependents:
		return rest.OrphanDependents
	case native.NoDependents:
		return rest.Unsupported
	default:
		return rest.DeleteDependents
	}
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if !s.kind.Status {
		return nil
	}
	return subresource.ResetFields(subresource.TopLevel("status"), s.versions()...)
}

// versions returns the versions in which the kind is served.
func (s strategy) versions() []schema.GroupVersion {
	return append([]schema.GroupVersion{s.kind.GroupVersion}, s.kind.OtherVersions...)
}

func objectMeta(obj runtime.Object) metav1.Object {
	// Every kind of package native embeds ObjectMeta, so this does not fail.
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return accessor
}

func statusOf(obj runtime.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}

// sameContent says whether two objects are equal apart from metadata and status.
func sameContent(newObj, oldObj runtime.Object) bool {
	newValue, oldValue := reflect.ValueOf(newObj).Elem(), reflect.ValueOf(oldObj).Elem()
	for i := range newValue.NumField() {
		if isContent(newValue.Type().Field(i).Name) &&
			!apiequality.Semantic.DeepEqual(newValue.Field(i).Interface(), oldValue.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// isContent reports whether a field of an object is neither metadata nor status.
func isContent(name string) bool {
	return name != "TypeMeta" && name != "ObjectMeta" && name != "Status"
}
