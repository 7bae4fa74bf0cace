package write

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/value"
)

// checkOtherVersions checks the markers of the other versions. It converts the old and the new object to each of them. If a conversion
// fails, it returns the error together with the violations that it found before.
func (j Judge) checkOtherVersions(ctx context.Context, newObj, oldObj *object.Object) (refusal.Decision, error) {
	var found refusal.Decision
	if j.Version.Kind.Storage() == j.Version && changesOnlyMetadata(oldObj, newObj) {
		// The objects are equal in every version, and a finalizer can go although a conversion webhook fails.
		for _, other := range j.Version.AlsoMarked {
			found.Merge(j.decide(ctx, other, oldObj, other.Compiled.Policy.CheckMetadata(oldObj.Object, newObj.Object)))
		}
		return found, nil
	}
	oldObj, newObj, err := j.wholeUpdate(ctx, oldObj, newObj)
	if err != nil {
		return found, err
	}
	for _, other := range j.Version.AlsoMarked {
		was, is, err := convertUpdate(oldObj, newObj, other)
		if err != nil {
			return found, err
		}
		found.Merge(j.violations(ctx, other, was, is))
	}
	return found, nil
}

// changesOnlyMetadata reports whether two objects differ at most in their metadata.
func changesOnlyMetadata(oldObj, newObj *object.Object) bool {
	return value.Strict.Equal(definition.WithoutMetadata(oldObj.Object), definition.WithoutMetadata(newObj.Object))
}

// wholeUpdate returns both objects of an update with the fields that only the storage version has. With conversion None, both objects are
// as the server stores them. With a webhook, the old object is as it is stored, and the new one as the client sent it: the webhook converts
// it directly to the version with the marker.
func (j Judge) wholeUpdate(ctx context.Context, oldObj, newObj *object.Object) (was, is *object.Object, err error) {
	k := j.Version.Kind
	if k.Storage() == j.Version {
		return oldObj, newObj, nil
	}
	if k.CRD.Spec.ConvertsNothing() {
		return convertUpdate(oldObj.Whole(), newObj.Whole(), k.Storage())
	}
	stored, err := j.storedAt(ctx, oldObj)
	return stored, newObj, err
}

// storedAt returns the old object of an update in the storage version.
func (j Judge) storedAt(ctx context.Context, oldObj *object.Object) (*object.Object, error) {
	stored, err := j.Stored(ctx, oldObj.GetName())
	if err != nil {
		return nil, err
	}
	if stored.GetResourceVersion() != oldObj.GetResourceVersion() {
		return nil, apierrors.NewConflict(j.Version.Kind.GroupResource(), oldObj.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return stored, nil
}

// convertUpdate converts both objects of an update to another version. A conversion webhook is called once for both.
func convertUpdate(oldObj, newObj *object.Object, to *kind.Version) (was, is *object.Object, err error) {
	pair := &object.List{Items: []object.Object{*oldObj, *newObj}}
	pair.SetGroupVersionKind(to.ListKind())
	converted, err := to.Kind.Convertor.ConvertToVersion(pair, to.GroupVersion())
	if err != nil {
		return nil, nil, err
	}
	list, ok := converted.(*object.List)
	if !ok || len(list.Items) != 2 {
		return nil, nil, fmt.Errorf("unexpected result %T of a conversion", converted)
	}
	return &list.Items[0], &list.Items[1], nil
}
