package custom

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/value"
)

// valueApply is a request to apply a configuration. The patch handler of the library merges a configuration with its
// own field manager and then calls mutating admission. If applyValues can merge the configuration, valueApply does both
// steps in place of the handler.
type valueApply struct {
	version *version
	scope   *handlers.RequestScope
	// applied is the configuration. It is nil if the library must merge it, see readsWhole.
	applied map[string]any
	admit   objectAdmission
	options *metav1.UpdateOptions
}

// updated returns the stored object with the applied values, after mutating admission. It returns nil if the library must merge
// the configuration.
func (a valueApply) updated(ctx context.Context, old *object) (*object, error) {
	if a.applied == nil || a.scope.Subresource != "" {
		return nil, nil
	}
	merged, ok := a.version.applyValues(old, a.applied, a.options.FieldManager)
	if !ok || hasManyOwners(merged) {
		return nil, nil
	}
	user, _ := genericapirequest.UserFrom(ctx)
	attributes := admission.NewAttributesRecord(merged, old, a.scope.Kind, genericapirequest.NamespaceValue(ctx), old.GetName(),
		a.scope.Resource, a.scope.Subresource, admission.Update, a.options, dryrun.IsDryRun(a.options.DryRun), user)
	before := listIn(merged, "managedFields")
	mutation, ok := admission.WithAudit(a.admit).(admission.MutationInterface)
	if !ok {
		return nil, nil
	}
	if err := mutation.Admit(ctx, attributes, a.scope); err != nil {
		return nil, err
	}
	a.keepValidManagers(ctx, merged, before)
	if hasManyOwners(merged) {
		// Admission added one. The library merges and admits the configuration again.
		return nil, nil
	}
	return merged, nil
}

// hasManyOwners reports whether an object may have an owner reference twice. The handler of the library removes duplicates.
func hasManyOwners(obj *object) bool { return len(listIn(obj, "ownerReferences")) > 1 }

// keepValidManagers restores the managed fields that an object had before mutating admission, if admission changed them to
// something invalid.
func (valueApply) keepValidManagers(ctx context.Context, obj *object, before []any) {
	if value.SameList(before, listIn(obj, "managedFields")) {
		return
	}
	err := managedfields.ValidateManagedFields(obj.GetManagedFields())
	if err == nil {
		return
	}
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok {
		metadata["managedFields"] = before
	}
	warning.AddWarning(ctx, "", fmt.Sprintf(fieldmanager.InvalidManagedFieldsAfterMutatingAdmissionWarningFormat, err.Error()))
}

// listIn returns a list in the metadata of an object.
func listIn(obj *object, key string) []any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	list, _ := metadata[key].([]any)
	return list
}
