package writes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/rights"
)

// mutate calls mutating admission. Afterwards it restores managed fields that are not valid any more, and removes duplicate owner
// references. The old object is nil if there is none.
func (r *request) mutate(ctx context.Context, obj, old runtime.Object) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	if plugins, ok := r.admission.(admission.MutationInterface); ok && plugins.Handles(operation) {
		before := accessor.GetManagedFields()
		if err := plugins.Admit(ctx, r.attributes(ctx, operation, obj, old), r.scope); err != nil {
			return err
		}
		// The field manager has written valid ones.
		if after := accessor.GetManagedFields(); !areSame(before, after) {
			if err := managedfields.ValidateManagedFields(after); err != nil {
				accessor.SetManagedFields(before)
				warning.AddWarning(ctx, "", fmt.Sprintf(fieldmanager.InvalidManagedFieldsAfterMutatingAdmissionWarningFormat, err.Error()))
			}
		}
	}
	removeDuplicateOwners(ctx, accessor)
	return nil
}

// areSame reports whether two lists of managed fields have one memory, and none of the entries was replaced. Plugins that change managed fields
// replace the list: they must not change the entries in place, which may be those of the stored object.
func areSame(before, after []metav1.ManagedFieldsEntry) bool {
	return len(before) == len(after) && (len(before) == 0 || &before[0] == &after[0])
}

// attributes describes the write to admission plugins.
func (r *request) attributes(ctx context.Context, operation admission.Operation, obj, old runtime.Object) admission.Attributes {
	user, _ := genericapirequest.UserFrom(ctx)
	options := runtime.Object(r.updateOptions())
	if operation == admission.Create {
		options = r.createOptions()
	}
	return admission.NewAttributesRecord(obj, old, r.scope.Kind, r.namespace, r.name, r.scope.Resource, r.scope.Subresource,
		operation, options, dryrun.IsDryRun(r.options.DryRun), user)
}

// validatingUpdate returns the function that calls validating admission for an update.
func (r *request) validatingUpdate(ctx context.Context) rest.ValidateObjectUpdateFunc {
	return rest.AdmissionToValidateObjectUpdateFunc(r.admission, r.attributes(ctx, admission.Update, nil, nil), r.scope)
}

// authorizingCreate returns the function that calls validating admission for a new object. It refuses a client that may not create objects.
func (r *request) authorizingCreate(ctx context.Context) rest.ValidateObjectFunc {
	validate := rest.AdmissionToValidateObjectFunc(r.admission, r.attributes(ctx, admission.Create, nil, nil), r.scope)
	return rights.Creating(r.http, r.scope, r.namespace, r.name, validate)
}

// removeDuplicateOwners removes the owner references that an object has twice. It warns in the words of Kubernetes.
func removeDuplicateOwners(ctx context.Context, accessor metav1.Object) {
	owners := accessor.GetOwnerReferences()
	if !hasDuplicateOwners(owners) {
		return
	}
	var kept []metav1.OwnerReference
	var duplicates []string
	seen := make(map[types.UID]bool, len(owners))
	for _, owner := range owners {
		isSame := func(other metav1.OwnerReference) bool { return apiequality.Semantic.DeepEqual(owner, other) }
		if seen[owner.UID] && slices.ContainsFunc(kept, isSame) {
			duplicates = append(duplicates, string(owner.UID))
			continue
		}
		seen[owner.UID] = true
		kept = append(kept, owner)
	}
	if len(duplicates) > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf(handlers.DuplicateOwnerReferencesAfterMutatingAdmissionWarningFormat, strings.Join(duplicates, ", ")))
		accessor.SetOwnerReferences(kept)
	}
}
