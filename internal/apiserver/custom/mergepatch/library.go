package mergepatch

import (
	"errors"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// Library is the plain form of a Patcher.
type Library struct{ format text.Format }

var _ Patcher = Library{}

// Patch implements Patcher.
func (l Library) Patch(stored *object.Object, patch []byte) (Result, error) {
	before, err := l.format.Append(nil, stored.Object)
	if err != nil {
		return Result{}, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return Result{}, apierrors.NewBadRequest(err.Error())
	}
	return Result{Text: after}, err
}
