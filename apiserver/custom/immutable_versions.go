package custom

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"holdfast.dev/holdfast/definition/refusal"
)

// checkOtherVersions checks the markers of the other versions. It converts the old and
// the new object to each of them. If a conversion fails, it returns the error together
// with the violations that it found before.
func (v *version) checkOtherVersions(ctx context.Context, newObj, oldObj *object) ([]refusal.Violation, error) {
	oldObj, newObj, err := v.storedUpdate(ctx, oldObj, newObj)
	if err != nil {
		return nil, err
	}
	var found []refusal.Violation
	for _, other := range v.alsoMarked {
		was, is, err := v.resource.convertor.convertUpdate(oldObj, newObj, other)
		if err != nil {
			return found, err
		}
		found = refusal.Merge(found, refusal.Of("version "+other.name, other.compiled.Policy.Check(was.Object, is.Object)))
	}
	return found, nil
}

// storedUpdate returns both objects of an update with everything that the markers of other
// versions may protect. The storage version may have fields that v does not have. With
// conversion None, both objects are as the server stores them. With a webhook, the old object
// is in the storage version, and the new one in v: the webhook converts it directly to the
// version with the marker.
func (v *version) storedUpdate(ctx context.Context, oldObj, newObj *object) (was, is *object, err error) {
	storageVersion := v.resource.storage()
	if storageVersion == v {
		return oldObj, newObj, nil
	}
	if v.resource.crd.Spec.ConvertsNothing() {
		return v.resource.convertor.convertUpdate(oldObj.whole(), newObj.whole(), storageVersion)
	}
	stored, err := v.storedObject(ctx, oldObj)
	return stored, newObj, err
}

// storedObject reads the old object of an update in the storage version.
func (v *version) storedObject(ctx context.Context, oldObj *object) (*object, error) {
	storageVersion := v.resource.storage()
	if err := storageVersion.open(); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	key, err := storageVersion.store.KeyFunc(ctx, oldObj.GetName())
	if err != nil {
		return nil, err
	}
	stored := &object{}
	if err := storageVersion.store.Storage.Get(ctx, key, storage.GetOptions{}, stored); err != nil {
		return nil, storeerr.InterpretGetError(err, v.resource.groupResource(), oldObj.GetName())
	}
	if stored.GetResourceVersion() != oldObj.GetResourceVersion() {
		return nil, apierrors.NewConflict(v.resource.groupResource(), oldObj.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return stored, nil
}

// convertUpdate converts both objects of an update to another version. A conversion
// webhook is called once for both.
func (c convertor) convertUpdate(oldObj, newObj *object, to *version) (was, is *object, err error) {
	pair := &objectList{Items: []object{*oldObj, *newObj}}
	pair.SetGroupVersionKind(to.groupVersion().WithKind(c.resource.crd.Status.AcceptedNames.ListKind))
	converted, err := c.ConvertToVersion(pair, to.groupVersion())
	if err != nil {
		return nil, nil, err
	}
	list, ok := converted.(*objectList)
	if !ok || len(list.Items) != 2 {
		return nil, nil, fmt.Errorf("unexpected result %T of a conversion", converted)
	}
	return &list.Items[0], &list.Items[1], nil
}
