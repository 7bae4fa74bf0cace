package custom

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/value"
)

// valueWrite is a write that may only replace values of fields that its manager owns: an update, a merge patch or an apply. The
// handlers of the library call their own field manager and then mutating admission. If applyValues or updateValues can do the
// work of the field manager, valueWrite calls mutating admission in place of the handler.
type valueWrite struct {
	version *version
	scope   *handlers.RequestScope
	admit   objectAdmission
	options *metav1.UpdateOptions
}

// admitted returns a written object after mutating admission. It returns nil if the library must do the write.
func (w valueWrite) admitted(ctx context.Context, written, old *object) (*object, error) {
	user, _ := genericapirequest.UserFrom(ctx)
	attributes := admission.NewAttributesRecord(written, old, w.scope.Kind, genericapirequest.NamespaceValue(ctx), old.GetName(),
		w.scope.Resource, w.scope.Subresource, admission.Update, w.options, dryrun.IsDryRun(w.options.DryRun), user)
	before := listIn(written, "managedFields")
	mutation, ok := admission.WithAudit(w.admit).(admission.MutationInterface)
	if !ok {
		return nil, nil
	}
	if err := mutation.Admit(ctx, attributes, w.scope); err != nil {
		return nil, err
	}
	keepValidManagers(ctx, written, before)
	removeDuplicateOwners(ctx, written)
	return written, nil
}

// removeDuplicateOwners removes the owner references that an object has twice after mutating admission, as the handlers of the
// library do.
func removeDuplicateOwners(ctx context.Context, obj *object) {
	if len(listIn(obj, "ownerReferences")) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var duplicates []string
	byUID := map[types.UID][]metav1.OwnerReference{}
	for _, owner := range obj.GetOwnerReferences() {
		isSame := func(other metav1.OwnerReference) bool { return apiequality.Semantic.DeepEqual(owner, other) }
		if slices.ContainsFunc(byUID[owner.UID], isSame) {
			duplicates = append(duplicates, string(owner.UID))
			continue
		}
		kept, byUID[owner.UID] = append(kept, owner), append(byUID[owner.UID], owner)
	}
	if len(duplicates) == 0 {
		return
	}
	obj.SetOwnerReferences(kept)
	warning.AddWarning(ctx, "",
		fmt.Sprintf(handlers.DuplicateOwnerReferencesAfterMutatingAdmissionWarningFormat, strings.Join(duplicates, ", ")))
}

// keepValidManagers restores the managed fields that an object had before mutating admission, if admission changed them to
// something invalid.
func keepValidManagers(ctx context.Context, obj *object, before []any) {
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
