package write

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/skeleton"
)

// Judge decides whether an object of a version may be stored: its types, its identity and immutable fields, its values, its owners.
type Judge struct {
	Version *kind.Version
	// Ownership checks whether an update changes fields of other owners. It is optional.
	Ownership *fieldownership.Checker
	// Policies has the rules of ImmutabilityPolicies. It is optional.
	Policies *policies.Rules
	// ImmutabilityStatus is the HTTP status of the answer to a change that a marker forbids: 400 or 422. The default is 400.
	ImmutabilityStatus int
	// Stored reads an object in the storage version.
	Stored func(ctx context.Context, name string) (*object.Object, error)
}

// checkTypes refuses values of the wrong type: all such values of a new object, and the changed ones of an update. So an object that was
// stored with a wrong type can still be changed and finalized.
func (j Judge) checkTypes(obj, old *object.Object) error {
	if old == nil {
		return j.wrongTypes(obj.GetName(), j.Version.Compiled.Skeleton.Check(obj.Object))
	}
	return j.wrongTypes(obj.GetName(), j.Version.Compiled.Skeleton.CheckUpdate(old.Object, obj.Object))
}

func (j Judge) wrongTypes(name string, wrong []skeleton.WrongType) error {
	if len(wrong) == 0 {
		return nil
	}
	var messages []string
	var causes []metav1.StatusCause
	for _, w := range wrong {
		messages = append(messages, w.Error())
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: w.Path, Message: w.Error()})
	}
	kind := j.Version.Kind
	err := apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled: %s", kind.Kind, j.Version.Name, strings.Join(messages, "; ")))
	err.ErrStatus.Details = &metav1.StatusDetails{Group: kind.Group, Kind: kind.Kind, Name: name, Causes: causes}
	return err
}

// BeginUpdate is the function of the registry store with this name. The store calls it after it has compared the resourceVersion, and
// before Strategy. It is step 2 in the doc of package update.
//
// BeginUpdate copies to the new object the values that only other versions have and that a marker protects (Unseen). It rejects an update
// that has the UID of another object, and an update that changes immutable fields. The kind and the apiVersion must be those of the URL. If
// the schema has markers, its policy has refused a change of these before, with its own status.
func (j Judge) BeginUpdate(
	ctx context.Context, newObj, oldObj runtime.Object, _ *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	updated, old := object.From(newObj), object.From(oldObj)
	updated.Unseen = old.Unseen
	if uid := updated.GetUID(); uid != "" && uid != old.GetUID() {
		// The store compares the UID only for a PUT, but a patch may contain a UID too.
		return nil, apierrors.NewConflict(j.Version.Kind.GroupResource(), old.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, old.GetUID())) //nolint:staticcheck // the store's words
	}
	if err := j.checkImmutable(ctx, updated, old); err != nil {
		return nil, err
	}
	if errs := j.validateKind(updated); len(errs) > 0 {
		return nil, apierrors.NewInvalid(j.Version.Kind.GroupKind, old.GetName(), errs)
	}
	return func(context.Context, bool) {}, nil
}

// validateKind returns an error if the kind or the apiVersion of an object is not that of the resource in the URL.
func (j Judge) validateKind(u *object.Object) field.ErrorList {
	var errs field.ErrorList
	if want := j.Version.Kind.Kind; u.GetKind() != want {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), "must be "+want))
	}
	if want := j.Version.GroupVersion().String(); u.GetAPIVersion() != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), "must be "+want))
	}
	return errs
}

// validateUpdate is an update.Rule. It validates the new object against the schema.
func (j Judge) validateUpdate(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return j.validate(ctx, object.From(newObj), object.From(oldObj), j.Version.Compiled.ValidateStored)
}

// validateStatus is an update.Rule. It validates the new status against the schema.
func (j Judge) validateStatus(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return j.validate(ctx, object.From(newObj), object.From(oldObj), j.Version.Compiled.ValidateStoredStatus)
}

// validator validates the values of an object in place of a stored one, after checkTypes has checked their types. It reports whether the
// object is valid as a whole.
type validator func(ctx context.Context, newObj map[string]any, old definition.Stored) (errs field.ErrorList, valid bool)

// validate validates an object in place of a stored one, which is nil if there is none. It records whether the object is valid.
func (j Judge) validate(ctx context.Context, updated, old *object.Object, validate validator) field.ErrorList {
	stored := definition.Stored{}
	if old != nil {
		stored = definition.Stored{Object: old.Object, Valid: old.Valid == j.Version.Compiled}
	}
	errs, valid := validate(ctx, updated.Object, stored)
	updated.Valid = nil
	if valid {
		updated.Valid = j.Version.Compiled
	}
	return errs
}

// checkOwnership is an update.Rule. It returns an error if the server is configured to refuse an edit that changes fields of other
// owners.
func (j Judge) checkOwnership(ctx context.Context, newObj, oldObj runtime.Object) field.ErrorList {
	return j.Ownership.Check(ctx, j.ownedUpdate(newObj, oldObj))
}

// ownedUpdate describes an update to the checker of field ownership.
func (j Judge) ownedUpdate(newObj, oldObj runtime.Object) fieldownership.Update {
	return fieldownership.Update{Kind: j.Version.GroupVersionKind(), Type: j.Version.Owned, Live: oldObj, New: newObj}
}
