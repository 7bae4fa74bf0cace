package custom

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"holdfast.dev/holdfast/immutability"
)

// CauseTypeFieldImmutable is the reason of each cause in the answer to a change
// that a marker forbids.
const CauseTypeFieldImmutable metav1.CauseType = "FieldImmutable"

// maxSaid is how many changes the message itself names; kubectl prints the causes
// of Invalid only.
const maxSaid = 5

// checkImmutable refuses an update that changes what a marker keeps: a marker in
// the version of the request, and in every other version that is served or
// stored, so that no version is a way around another.
func (v *version) checkImmutable(ctx context.Context, newObj, oldObj *object) error {
	found := v.compiled.Policy.Check(oldObj.Object, newObj.Object)
	if len(found) == 0 && len(v.others) > 0 {
		var err error
		if found, err = v.checkOthers(ctx, newObj, oldObj); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	return v.forbidden(oldObj, found)
}

// checkOthers asks the other versions, the storage version first.
func (v *version) checkOthers(ctx context.Context, newObj, oldObj *object) ([]immutability.Violation, error) {
	for _, other := range v.others {
		if err := other.open(); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		// The object as it is stored: what only the other version knows is not in
		// the old object of this one.
		key, err := other.store.KeyFunc(ctx, oldObj.GetName())
		if err != nil {
			return nil, err
		}
		otherOld := &object{}
		if err := other.store.Storage.Get(ctx, key, storage.GetOptions{}, otherOld); err != nil {
			return nil, storeerr.InterpretGetError(err, v.served.resource(), oldObj.GetName())
		}
		if otherOld.GetResourceVersion() != oldObj.GetResourceVersion() {
			return nil, apierrors.NewConflict(v.served.resource(), oldObj.GetName(), fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
		}
		otherNew, err := v.served.convertor.ConvertToVersion(newObj, other.groupVersion())
		if err != nil {
			return nil, err
		}
		if found := other.compiled.Policy.Check(otherOld.Object, content(otherNew).Object); len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// othersOf are the versions whose markers say something that this version's do
// not.
func othersOf(v *version) []*version {
	asked := []*version{v}
	for i := range v.served.crd.Spec.Versions {
		spec := &v.served.crd.Spec.Versions[i]
		other := v.served.versions[spec.Name]
		if other == v || other.compiled.Policy == nil || !spec.Served && !spec.Storage {
			continue
		}
		if spec.Storage {
			asked = slices.Insert(asked, 1, other)
		} else {
			asked = append(asked, other)
		}
	}
	return asked[1:]
}

// forbidden is the answer to a change of immutable fields. It is 400, which
// clients do not try again; some recreate an object on 422 only, so that can be
// chosen.
func (v *version) forbidden(obj *object, found []immutability.Violation) error {
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Details: &metav1.StatusDetails{Group: v.served.kind.Group, Kind: v.served.kind.Kind, Name: obj.GetName(), UID: obj.GetUID()},
	}
	if v.served.server.config.ImmutabilityStatus == http.StatusUnprocessableEntity {
		status.Code, status.Reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
	}
	var said []string
	for i, violation := range found {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{
			Type: CauseTypeFieldImmutable, Field: violation.Path.String(), Message: violation.Message(),
		})
		if i < maxSaid {
			said = append(said, violation.String())
		}
	}
	if more := len(found) - len(said); more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	status.Message = fmt.Sprintf("%s %q cannot be changed this way: %s", v.served.kind.String(), obj.GetName(), strings.Join(said, "; "))
	return &apierrors.StatusError{ErrStatus: status}
}
