package write

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition/refusal"
)

// checkOtherVersions checks the markers of the other versions. It converts the old and the new object to each of them. If a conversion
// fails, it returns the error together with the violations that it found before.
func (j Judge) checkOtherVersions(ctx context.Context, newObj, oldObj *object.Object) ([]refusal.Violation, error) {
	oldObj, newObj, err := j.wholeUpdate(ctx, oldObj, newObj)
	if err != nil {
		return nil, err
	}
	var found []refusal.Violation
	for _, other := range j.Version.AlsoMarked {
		was, is, err := convertUpdate(oldObj, newObj, other)
		if err != nil {
			return found, err
		}
		found = refusal.Merge(found, refusal.Of("version "+other.Name, other.Compiled.Policy.Check(was.Object, is.Object)))
	}
	return found, nil
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
	stored, err := j.Stored(ctx, oldObj.GetName())
	if err != nil {
		return nil, nil, err
	}
	if stored.GetResourceVersion() != oldObj.GetResourceVersion() {
		return nil, nil, apierrors.NewConflict(k.GroupResource(), oldObj.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return stored, newObj, nil
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
