package disclosure

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// secrets are special: the server shows their values in no message, not even to a client that may get the object, because the audit log
// has the messages too.
var secrets = schema.GroupResource{Resource: "secrets"}

// Patched wraps the new object of an update, so that its errors show values only to a client that may read them. If a patch makes an
// object that cannot be decoded, the library of Kubernetes puts the whole object into its error.
func Patched(resource schema.GroupResource, info rest.UpdatedObjectInfo) rest.UpdatedObjectInfo {
	return patched{info, resource}
}

type patched struct {
	rest.UpdatedObjectInfo
	resource schema.GroupResource
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (p patched) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := p.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err == nil {
		return obj, nil
	}
	cause, isOfPatch := patchCause(err)
	var status apierrors.APIStatus
	switch {
	case isOfPatch && p.resource == secrets:
		return nil, PatchError(field.OmitValueType{}, withoutValues(cause))
	case isOfPatch && !Allowed(ctx):
		return nil, PatchError(field.OmitValueType{}, cause)
	case p.resource == secrets && !errors.As(err, &status):
		return nil, errors.New(withoutValues(err.Error())) // of an apply, or of a wrong strategic merge patch
	}
	return obj, err
}

// PatchError returns the answer to a patch after which an object cannot be decoded, as Kubernetes has it.
func PatchError(shown any, cause string) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), shown, cause)})
}

// patchCause returns what PatchError says besides the value, and whether an error is one.
func patchCause(err error) (cause string, isOfPatch bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || status.Status().Details.Kind != "" {
		return "", false
	}
	for _, one := range status.Status().Details.Causes {
		rest, isInvalid := strings.CutPrefix(one.Message, "Invalid value: ")
		if one.Type != metav1.CauseTypeFieldValueInvalid || one.Field != "patch" || !isInvalid {
			continue
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			rest = strings.TrimPrefix(rest[len(quoted):], ": ")
		}
		return rest, true
	}
	return "", false
}

// base64Problem is the end of an error about data of a Secret that is not in base64.
var base64Problem = regexp.MustCompile(`illegal base64 data at input byte \d+$`)

// withoutValues returns the cause of an error about a Secret if it has no values: it names fields, or a place in a value.
func withoutValues(cause string) string {
	if strings.HasPrefix(cause, "strict decoding error: ") {
		return cause
	}
	text := "the patched object is no valid Secret"
	if problem := base64Problem.FindString(cause); problem != "" {
		text += ": " + problem
	}
	return text
}
