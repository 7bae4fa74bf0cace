package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	kjson "sigs.k8s.io/json"

	"holdfast.dev/holdfast/internal/apiserver/custom/mergepatch"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/disclosure"
)

// maxOperations is the number of operations that a JSON patch may have. It is that of Kubernetes.
const maxOperations = 10000

// checkPatch refuses a patch that is not JSON, and shows the patch to the audit log.
func (r *request) checkPatch(ctx context.Context) error {
	if !json.Valid(r.body) {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	audit.LogRequestPatch(ctx, r.body)
	return nil
}

// fromPatch returns the old object with the patch of the request. The result conforms.
func (r *request) fromPatch(ctx context.Context, old *object.Object) (*object.Object, error) {
	var result mergepatch.Result
	var err error
	if r.patchType == types.MergePatchType {
		result, err = r.Patches.Patch(old, r.body)
	} else {
		result.Text, err = r.patchedText(old)
	}
	obj := result.Object
	if obj == nil {
		// If the text of the patch has errors, the client gets these, and not those of its application.
		strict, strictErr := r.strictPatch()
		if strictErr != nil {
			return nil, strictErr
		}
		if err != nil {
			return nil, err
		}
		if obj, err = r.decodePatched(ctx, result.Text, strict); err != nil {
			return nil, err
		}
	}
	return obj, r.checkTarget(obj)
}

// patchedText returns the text of the old object with a JSON patch.
func (r *request) patchedText(old *object.Object) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(r.body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(patch) > maxOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(patch)))
	}
	stored, err := r.Format.Append(nil, old.Object)
	if err != nil {
		return nil, err
	}
	text, err := patch.Apply(stored)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return text, nil
}

// jsonPatchOp is an operation of a JSON patch. Errors show its name to clients, so it has that of Kubernetes.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// strictPatch returns an error for each duplicate key of a patch, and for each unknown field of a JSON patch.
func (r *request) strictPatch() ([]error, error) {
	if r.directive == metav1.FieldValidationIgnore {
		return nil, nil
	}
	into, prefix := any(&[]jsonPatchOp{}), "json patch "
	if r.patchType == types.MergePatchType {
		into, prefix = &map[string]any{}, ""
	}
	strict, err := kjson.UnmarshalStrict(r.body, into)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	for i, err := range strict {
		strict[i] = fmt.Errorf("%s%w", prefix, err)
	}
	return strict, nil
}

// decodePatched decodes a patched object. found has the strict errors of the patch.
func (r *request) decodePatched(ctx context.Context, text []byte, found []error) (*object.Object, error) {
	info, ok := runtime.SerializerInfoForMediaType(r.Scope.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, errors.New("no serializer for JSON")
	}
	invalid := func(err error) error {
		if !disclosure.Allowed(ctx) {
			return disclosure.PatchError(field.OmitValueType{}, err.Error())
		}
		return disclosure.PatchError(string(text), err.Error())
	}
	obj := object.New(r.Scope.Kind)
	if err := runtime.DecodeInto(r.decoder(info), text, obj); err != nil {
		strict, isStrict := runtime.AsStrictDecodingError(err)
		if !isStrict {
			return nil, invalid(err)
		}
		found = append(found, strict.Errors()...)
	}
	if len(found) == 0 {
		return obj, nil
	}
	if r.directive != metav1.FieldValidationWarn {
		return nil, invalid(runtime.NewStrictDecodingError(found))
	}
	warn(ctx, found)
	return obj, nil
}
